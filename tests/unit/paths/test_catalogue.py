"""paths: names, ladders, and what is said of a name that is neither."""

from __future__ import annotations

import pytest

from perpkt.errors import UsageError
from perpkt.paths import CATALOGUE, LADDERS, find, select
from perpkt.spec import Ladder

NAMES = [path.name for path in CATALOGUE]


def test_names_are_unique() -> None:
    """No two paths or ladders have the same name."""
    names = [*NAMES, *(ladder.name for ladder in LADDERS)]
    assert len(set(names)) == len(names)


def test_names_say_their_family() -> None:
    """A path's name is family/thing, a ladder's a single word: they can't be taken for each other."""
    assert all(name.count("/") == 1 for name in NAMES)
    assert all("/" not in ladder.name for ladder in LADDERS)


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_ladder_is_made_of_paths(ladder: Ladder) -> None:
    """Each rung of a ladder is in the catalogue, stands there once, and the reference is one of them."""
    assert set(ladder.paths) <= set(NAMES)
    assert len(set(ladder.paths)) == len(ladder.paths)
    assert ladder.reference in ladder.paths


def test_every_path_is_on_a_ladder() -> None:
    """No path is reached by its name only."""
    assert {name for ladder in LADDERS for name in ladder.paths} == set(NAMES)


@pytest.mark.parametrize("name", [*NAMES, *(ladder.name for ladder in LADDERS)])
def test_find(name: str) -> None:
    """Each name finds what has it."""
    assert find(name).name == name


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("rx/ingres", "rx/ingress"),
        ("rx/tcx", "rx/tcx-bpf"),
        ("ingres", "ingress"),
        ("locl", "local"),
        ("conntrack", "rx/udp-conntrack"),
    ],
)
def test_near_match(wrong: str, near: str) -> None:
    """A name that is nearly one, or part of one, is answered with that one."""
    with pytest.raises(UsageError, match=rf"{wrong!r}: did you mean .*{near}\b") as caught:
        find(wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["", "zzzzzz", "é" * 9])
def test_no_near_match(wrong: str) -> None:
    """A name that is near none is answered with where they are listed."""
    with pytest.raises(UsageError, match=r"`perpkt paths` lists them$"):
        find(wrong)


def test_select_keeps_each_path_once() -> None:
    """What is named twice is measured once, at its first place."""
    paths, _ = select(["rx/ingress", "ingress", "rx"])
    names = [path.name for path in paths]
    assert names[0] == "rx/ingress"
    assert sorted(names) == sorted(NAMES)


@pytest.mark.parametrize(
    ("names", "reference"),
    [
        (["local"], "rx/udp-no-socket"),
        (["rx/tcx-bpf", "local"], "rx/udp-no-socket"),
        (["ingress", "local"], "rx/other-host"),
        (["rx/floor", "rx/ingress"], "rx/ingress"),
        (["rx/ingress", "rx/other-host"], "rx/ingress"),
        (["rx/floor"], "rx/floor"),
    ],
)
def test_reference(names: list[str], reference: str) -> None:
    """The reference is the first ladder's, else the first path named that enters the stack."""
    assert select(names)[1] == reference
