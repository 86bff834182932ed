"""Figures as every report prints them: plain strings, and the record of a row that csv and json share."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perpkt.analysis import Row
    from perpkt.result import Estimate

UNKNOWN = "unknown"
NO_DIFFERENCE = "="
# A space at which no line is broken. It never leaves this package: `wrap` and `plain` put an ordinary one back.
TIE = "\N{NO-BREAK SPACE}"
_LARGEST_PLAIN = 999_999.95
_LARGEST_WITH_CENTS = 999.995


def figure(value: float, *, signed: bool = False) -> str:
    """A number of ns with one decimal, never longer than 9 characters: 12.8, +12.8, 1.0e+09, unknown."""
    if not math.isfinite(value):
        return UNKNOWN
    kind = "+" * signed + "z" + (".1f" if abs(value) < _LARGEST_PLAIN else ".1e")
    return format(value, kind)


def is_known(estimate: Estimate) -> bool:
    """Whether there were calls enough for an interval."""
    return math.isfinite(estimate.low) and math.isfinite(estimate.high)


def is_noise(estimate: Estimate | None) -> bool:
    """Whether the difference has an interval and it holds 0."""
    return estimate is not None and is_known(estimate) and estimate.holds_zero


def interval(estimate: Estimate) -> str:
    """[12.5, 13.1], or that it is unknown."""
    ends = f"{figure(estimate.low)},{TIE}{figure(estimate.high)}" if is_known(estimate) else UNKNOWN
    return f"[{ends}]"


def level(estimate: Estimate) -> str:
    """A cost with its interval: 305.0 [304.8, 305.3]."""
    return f"{figure(estimate.value)}{TIE}{interval(estimate)}"


def change(estimate: Estimate | None, *, marked: bool = True) -> str:
    """A difference with its interval, marked where it holds 0: +12.8 [12.5, 13.1]; empty for none."""
    if estimate is None:
        return ""
    return f"{_mark(estimate) if marked else ''}{figure(estimate.value, signed=True)}{TIE}{interval(estimate)}"


def level_half(estimate: Estimate) -> str:
    """A cost with the wider half of its interval: 305.0 ±0.3."""
    return f"{figure(estimate.value)}{TIE}±{_half(estimate)}"


def change_half(estimate: Estimate | None) -> str:
    """A difference with the wider half of its interval, marked where it holds 0: +12.8 ±0.3; empty for none."""
    if estimate is None:
        return ""
    return f"{_mark(estimate)}{figure(estimate.value, signed=True)}{TIE}±{_half(estimate)}"


def change_alone(estimate: Estimate | None) -> str:
    """A difference without its interval, marked where that holds 0: = +0.1; empty for none."""
    return "" if estimate is None else f"{_mark(estimate)}{figure(estimate.value, signed=True)}"


def _half(estimate: Estimate) -> str:
    if not is_known(estimate):
        return "?"
    return figure(max(estimate.value - estimate.low, estimate.high - estimate.value))


def _mark(estimate: Estimate) -> str:
    return NO_DIFFERENCE + TIE if is_noise(estimate) else ""


def mpps(rate_pps: float) -> str:
    """Packets per second in millions: 3.28."""
    millions = rate_pps / 1e6
    return f"{millions:.2f}" if abs(millions) < _LARGEST_WITH_CENTS else figure(millions)


def percent(share: float) -> str:
    """A share of 1: 40 %."""
    return f"{100 * share:.0f}{TIE}%" if math.isfinite(share) else UNKNOWN


def ends(sent: int, fate: Mapping[str, int]) -> dict[str, int]:
    """How many packets ended where, those in no counter too; no zeros."""
    lost = sent - sum(fate.values())
    return {reason: count for reason, count in {**fate, "not accounted for": lost}.items() if count}


def fates(sent: int, fate: Mapping[str, int]) -> str:
    """Where packets ended: OTHERHOST 100 % if all met one reason, else the counts."""
    met = ends(sent, fate)
    if len(met) == 1:
        return f"{line(next(iter(met)))}{TIE}100{TIE}%"
    return ", ".join(f"{line(reason)}{TIE}{count:,}" for reason, count in met.items()) or "nothing sent"


def accounted(sent: int, fate: Mapping[str, int]) -> str:
    """How many packets were sent, and whether each of them is in a counter."""
    found = sum(fate.values())
    return f"{sent:,} packets sent, " + ("all accounted for" if found == sent else f"{found:,} accounted for")


def total(counts: list[Mapping[str, int]]) -> dict[str, int]:
    """The sums of several counts by reason."""
    return {reason: sum(one.get(reason, 0) for one in counts) for one in counts for reason in one}


def line(text: str) -> str:
    """A text from elsewhere on one line, without characters that a terminal would obey."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))


def plain(text: str) -> str:
    """The text with ordinary spaces."""
    return text.replace(TIE, " ")


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Lines of at most `width` columns, `indent` before all but the first; figures stay with their intervals."""
    # textwrap breaks at ASCII spaces only, so what TIE joins stays together.
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    # a figure wider than the line is broken where a TIE was, which is then a space at its end
    return [plain(one).rstrip() for one in lines]


def finite(value: float) -> float | None:
    """The value, or None where there is none."""
    return value if math.isfinite(value) else None


def record(row: Row) -> dict[str, object]:
    """A row as csv and json give it: costs and differences in ns/packet, None for what there is not."""
    return {
        "name": row.name,
        **_with_ends("cost_ns", row.cost),
        "typical_ns": finite(row.typical_ns),
        "rate_pps": finite(row.rate_pps),
        **_with_ends("difference_ns", row.difference),
        **_with_ends("step_ns", row.step),
        "sent": row.sent,
        "fate": dict(row.fate),
        "witness": dict(row.witness),
    }


def difference_record(name: str, difference: Estimate) -> dict[str, object]:
    """A named difference with its interval, in ns/packet."""
    return {"name": name, **_with_ends("difference_ns", difference)}


def _with_ends(name: str, estimate: Estimate | None) -> dict[str, object]:
    values = (None,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
    return {
        name + end: None if value is None else finite(value)
        for end, value in zip(("", "_low", "_high"), values, strict=True)
    }
