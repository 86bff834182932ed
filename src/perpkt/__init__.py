"""What every packet costs: ns/packet of each path through the Linux network stack, with statistics.

import perpkt
result = perpkt.run("ingress", time_s=20)     # needs root
summary = perpkt.summarise(result)
print(perpkt.render(result, summary, "text"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perpkt.analysis import Summary, summarise
    from perpkt.errors import PerpktError
    from perpkt.experiment import make_plan, run
    from perpkt.report import render
    from perpkt.result import Result
    from perpkt.spec import Plan
    from perpkt.store import load, save

__all__ = ["PerpktError", "Plan", "Result", "Summary", "load", "make_plan", "render", "run", "save", "summarise"]

# Loaded when first asked for: `perpkt --help` needs none of them.
_HOMES = {
    "PerpktError": "perpkt.errors",
    "Plan": "perpkt.spec",
    "Result": "perpkt.result",
    "Summary": "perpkt.analysis",
    "load": "perpkt.store",
    "make_plan": "perpkt.experiment",
    "render": "perpkt.report",
    "run": "perpkt.experiment",
    "save": "perpkt.store",
    "summarise": "perpkt.analysis",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'perpkt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
