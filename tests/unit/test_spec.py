"""spec: what a plan may say, and that it goes through JSON unchanged."""

from __future__ import annotations

import math

import msgspec
import pytest

from perpkt.errors import UsageError
from perpkt.paths import CATALOGUE, LADDERS
from perpkt.spec import Ladder, Plan, Qdisc, Record, StageRecord, Veth, by_lasting
from perpkt.testing import sample_plan

PLAN = sample_plan()
replace = msgspec.structs.replace


def test_plan_round_trip() -> None:
    """A plan of the whole catalogue is the same after JSON."""
    plan = replace(PLAN, paths=CATALOGUE, rounds=3, precision_ns=0.5, cpu=1)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_ladder_round_trip(ladder: Ladder) -> None:
    """A ladder is the same after JSON."""
    assert msgspec.json.decode(msgspec.json.encode(ladder), type=Ladder) == ladder


@pytest.mark.parametrize(
    "changes",
    [
        {"frame_bytes": 59},
        {"frame_bytes": 4097},
        {"frame_bytes": 0},
        {"batch": 0},
        {"batch": 3},
        {"batch": 96},
        {"batch": 512},
        {"batch": -64},
        {"time_s": 0.99},
        {"time_s": -1.0},
        {"time_s": math.nan},
        {"time_s": math.inf},
        {"time_s": 86401.0},
        {"rounds": 0},
        {"rounds": 100_001},
        {"precision_ns": 0.0},
        {"precision_ns": math.nan},
        {"precision_ns": 1001.0},
    ],
    ids=str,
)
def test_out_of_range(changes: dict[str, float]) -> None:
    """A figure that can't be meant is a UsageError of one line that names its option and what it may be."""
    option = next(iter(changes)).removesuffix("_s").removesuffix("_ns").replace("_", "-")
    with pytest.raises(UsageError, match=rf"^--{option} \S+: must be ") as caught:
        replace(PLAN, **changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"frame_bytes": 60, "batch": 1, "time_s": 1.0, "rounds": 1, "precision_ns": 0.01},
        {"frame_bytes": 4096, "batch": 256, "time_s": 86400.0, "rounds": 100_000, "precision_ns": 1000.0},
        {"rounds": None, "precision_ns": None},
    ],
    ids=["least", "most", "none"],
)
def test_bounds_are_within(changes: dict[str, float | None]) -> None:
    """The bounds themselves can be asked for."""
    plan = replace(PLAN, **changes)
    assert {name: getattr(plan, name) for name in changes} == changes


def test_foreign_plan_is_checked_too() -> None:
    """A plan that is read from JSON is held to the same ranges as one that is made."""
    data = msgspec.to_builtins(PLAN) | {"batch": 3}
    with pytest.raises((UsageError, msgspec.ValidationError), match="power of two"):
        msgspec.convert(data, Plan)


def test_unknown_fields_are_refused() -> None:
    """A field that this version does not know is an error, not passed over."""
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert(msgspec.to_builtins(PLAN) | {"speed": 1}, Plan)


def test_path_by_name() -> None:
    """A plan finds its paths by name, and no other."""
    assert PLAN.path("rx/ingress").name == "rx/ingress"
    with pytest.raises(KeyError):
        PLAN.path("rx/floor")


def records(base: type[Record]) -> list[type[Record]]:
    """All kinds of record below `base`."""
    return [one for child in base.__subclasses__() for one in (child, *records(child))]


@pytest.mark.parametrize("kind", records(Record), ids=lambda kind: kind.__qualname__)
def test_records_are_frozen(kind: type[Record]) -> None:
    """A record can't be changed once it is made."""
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize("kind", records(StageRecord), ids=lambda kind: kind.__qualname__)
def test_stages_are_told_apart_in_json(kind: type[Record]) -> None:
    """A stage says its kind in JSON."""
    assert kind.__struct_config__.tag == kind.__name__


def test_veth_of_a_path() -> None:
    """A path's veth is the one whose device the frames enter."""
    other = Veth("w0", "02:00:00:00:00:03", "w1", "02:00:00:00:00:04")
    path = replace(PLAN.paths[0], stages=(other, *PLAN.paths[0].stages))
    assert path.veth.device == path.device == "v0"


def test_by_lasting() -> None:
    """Paths share a testbed exactly when their lasting stages agree; each is in one group, in order."""
    groups = by_lasting(CATALOGUE)
    assert [path for members in groups.values() for path in members] != []
    assert sorted(path.name for members in groups.values() for path in members) == sorted(p.name for p in CATALOGUE)
    assert all(path.lasting == lasting for lasting, members in groups.items() for path in members)
    ingress = list(LADDERS[1].paths)
    assert ingress in [[path.name for path in members][: len(ingress)] for members in groups.values()]


def test_passing_and_lasting() -> None:
    """A veth lasts as long as its namespace, a qdisc is attached for its path's own calls."""
    path = PLAN.path("rx/ingress")
    assert [type(stage).__name__ for stage in path.lasting] == ["Veth", "Address"]
    assert path.passing == (Qdisc("v0"),)
