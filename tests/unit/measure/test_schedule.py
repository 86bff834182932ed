"""measure.schedule: which calls a round makes, and in which order."""

from __future__ import annotations

import random
from collections import Counter

from perpkt.measure.schedule import Group, Slot, round_order
from perpkt.paths import CATALOGUE
from perpkt.spec import by_lasting

PACKETS = {path.name: 1000 + number for number, path in enumerate(CATALOGUE)}
SAME_PATH = ("rx/other-host", "rx/udp-icmp")


def order(seed: int, visits: int = 2) -> tuple[Group, ...]:
    """A round of the whole catalogue."""
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    return round_order(CATALOGUE, SAME_PATH, PACKETS, visits, generator)


def slots(groups: tuple[Group, ...]) -> list[Slot]:
    """All slots in order."""
    return [slot for group in groups for slot in group.slots]


def test_each_path_is_visited_alike() -> None:
    """Each path is called as often as was asked, an A/A pair once more for its second half."""
    counted = Counter((slot.path.name, slot.copy) for slot in slots(order(1, visits=3)))
    expected = {(path.name, 0): 3 for path in CATALOGUE} | {(name, 1): 3 for name in SAME_PATH}
    assert counted == expected


def test_a_call_sends_its_paths_packets() -> None:
    """Each slot has the number of packets of its path."""
    assert all(slot.packets == PACKETS[slot.path.name] for slot in slots(order(1)))


def test_a_group_shares_a_testbed() -> None:
    """A group's paths agree in all lasting stages and in whether they hold packets, and no two groups do."""
    groups = order(1)
    assert all(slot.path.lasting == group.lasting for group in groups for slot in group.slots)
    kinds = [{(group.lasting, bool(slot.path.held_bytes)) for slot in group.slots} for group in groups]
    assert all(len(kind) == 1 for kind in kinds)
    assert len(set.union(*kinds)) == len(groups) > len(by_lasting(CATALOGUE))


def test_every_visit_is_a_whole_pass() -> None:
    """Each path is visited once before any is visited again: drift within a round falls on all alike."""
    for group in order(1, visits=3):
        size = len(group.slots) // 3
        passes = [group.slots[start : start + size] for start in range(0, 3 * size, size)]
        assert all(set(one) == set(passes[0]) for one in passes)


def test_same_seed_same_order() -> None:
    """The order is the seed's: the same for the same one, another for another."""
    assert order(7) == order(7)
    assert order(7) != order(8)


def test_rounds_differ() -> None:
    """Two rounds of one generator are in unlike orders, of the groups and within them."""
    generator = random.Random(1)  # noqa: S311 - an order, not a secret
    rounds = [round_order(CATALOGUE, SAME_PATH, PACKETS, 1, generator) for _ in range(20)]
    assert len({tuple(group.lasting for group in one) for one in rounds}) > 1
    largest = max(by_lasting(CATALOGUE).items(), key=lambda item: len(item[1]))[0]
    within = {group.slots for one in rounds for group in one if group.lasting == largest}
    assert len(within) == 20


def test_no_place_is_preferred() -> None:
    """Over many rounds each path comes first of its group about equally often."""
    generator = random.Random(1)  # noqa: S311 - an order, not a secret
    paths = CATALOGUE[:4]
    first: Counter[str] = Counter()
    for _ in range(2000):
        first[round_order(paths, (), PACKETS, 1, generator)[0].slots[0].path.name] += 1
    assert all(400 < first[path.name] < 600 for path in paths)


def test_halves_of_a_pair_take_turns() -> None:
    """Neither half of an A/A pair is always the first."""
    firsts = {
        next(slot.copy for slot in slots(order(seed, visits=1)) if slot.path.name == SAME_PATH[0]) for seed in range(20)
    }
    assert firsts == {0, 1}
