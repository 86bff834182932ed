"""Property tests on machines that are busy with something else: an example may take its time."""

from __future__ import annotations

from hypothesis import settings

# derandomize: the same examples each time, so that a failure is the change's
settings.register_profile("patient", deadline=None, derandomize=True)
settings.load_profile("patient")
