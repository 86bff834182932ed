"""Which instrument answers a plan. The one place to extend when another joins."""

from __future__ import annotations

import msgspec

from perpkt import probe
from perpkt.errors import Unsupported
from perpkt.instruments import live
from perpkt.kernel import signals
from perpkt.result import Result
from perpkt.spec import Plan


def measure(plan: Plan, observer: live.Observer | None = None) -> Result:
    """The Result of a plan, from the live instrument.

    Raises HostError where it can't work here, or where a path that the plan names by itself can't be
    built; a ladder's paths that can't are left out, with the reason.
    """
    with signals.deferred():
        return _measure(plan, observer)


def _measure(plan: Plan, observer: live.Observer | None) -> Result:
    live.check_cpu(plan.cpu)
    probe.check_live()
    available, missing = probe.availability(plan.paths)
    named = set(plan.named)
    for one in missing:
        if one.name in named or not available:
            raise Unsupported(f"{one.name} can't be measured here: {one.reason}", one.remedy)
    left = {path.name for path in available}
    reference = plan.reference if plan.reference in left else available[0].name
    return live.measure(msgspec.structs.replace(plan, paths=available, reference=reference), missing, observer)
