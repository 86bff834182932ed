"""The order of a round's calls, from a seeded generator. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from perpkt.spec import Path, Record, Stage, by_lasting


class Slot(Record, frozen=True):
    """One call to make: which path, which half of an A/A pair, how many frames."""

    path: Path
    copy: int
    packets: int


class Group(Record, frozen=True):
    """Calls that share a testbed, because their paths agree in all lasting stages."""

    lasting: tuple[Stage, ...]
    slots: tuple[Slot, ...]


def round_order(
    paths: Sequence[Path], same_path: Sequence[str], packets: Mapping[str, int], visits: int, generator: random.Random
) -> tuple[Group, ...]:
    """Each path `visits` times (twice that for an A/A pair), random within its group, groups in random order."""
    made = []
    for lasting, members in _groups(paths):
        slots = [
            Slot(path, copy, packets[path.name])
            for path in members
            for copy in ((0, 1) if path.name in same_path else (0,))
        ]
        made.append(Group(lasting, _shuffled(slots, visits, generator)))
    generator.shuffle(made)
    return tuple(made)


def _groups(paths: Sequence[Path]) -> Iterator[tuple[tuple[Stage, ...], list[Path]]]:
    """Paths that agree in all lasting stages; those that hold packets apart, since their memory disturbs the others."""
    for lasting, members in by_lasting(paths).items():
        for holds in (False, True):
            some = [path for path in members if bool(path.held_bytes) == holds]
            if some:
                yield lasting, some


def _shuffled(slots: list[Slot], visits: int, generator: random.Random) -> tuple[Slot, ...]:
    """Visit after visit, each a random order of all slots: drift within a round falls on all alike."""
    return tuple(slot for _ in range(visits) for slot in generator.sample(slots, len(slots)))
