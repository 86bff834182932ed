"""Property tests on machines that are busy with something else: an example may take its time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
