"""The ledger of one injection: every packet sent is in a counter that is not the sender's. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perpkt.errors import PacketsLost, WrongFate
from perpkt.spec import Counter, Path

Counts = Mapping[Counter, int]


def fate(path: Path, sent: int, planned: int, moved: Counts) -> dict[str, int]:
    """Packets by reason; `moved` is by how much each counter went up.

    Raises PacketsLost where they are fewer or more than were sent, WrongFate where a counter moved that must not.
    """
    if sent != planned:
        raise PacketsLost(f"{path.name}: {planned:,} frames were to be sent, the injecting program saw {sent:,}")
    if path.verdict == "drop":
        # XDP_DROP ends in the program itself; the call's repeat count is all there is beside it
        return {path.fates[0].reason: sent}
    counts = {one.reason: moved[one.counter] for one in path.fates}
    _check_sum(path, sent, counts)
    for counter in path.silent:
        if moved.get(counter, 0):
            raise WrongFate(f"{path.name}: {counter} went up by {moved[counter]:,}, and must not move on this path")
    return counts


def _check_sum(path: Path, sent: int, counts: Mapping[str, int]) -> None:
    met = sum(counts.values())
    if met != sent:
        ends = ", ".join(f"{reason} {count:,}" for reason, count in counts.items())
        words = "are in no counter" if met < sent else "are more than were sent"
        raise PacketsLost(
            f"{path.name}: {sent:,} frames sent, but {ends}: {abs(sent - met):,} {words}; the path is not measured"
        )


def check_crossed(path: Path, sent: int, moved: Counts) -> dict[str, int]:
    """What the counters on the way saw: each that this kernel keeps, every packet, or WrongFate."""
    seen = {str(counter): moved[counter] for counter in path.crossed if counter in moved}
    for counter, count in seen.items():
        if count != sent:
            raise WrongFate(f"{path.name}: {sent:,} frames sent, but {counter} counted {count:,}")
    return seen


def check_drop_reasons(path: Path, counts: Mapping[str, int], reasons: Mapping[str, int]) -> None:
    """The kernel's own drop reasons say the same as the counters, packet by packet, or WrongFate."""
    expected = {one.reason: counts[one.reason] for one in path.fates if one.dropped and counts[one.reason]}
    if dict(reasons) != expected:
        raise WrongFate(
            f"{path.name}: the kernel dropped {_listed(reasons)} here; its counters say {_listed(expected)}"
        )


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in reasons.items()) or "nothing"
