"""Summaries with every kind of figure: tiny, huge, unknown, with long names and many fates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
from hypothesis import strategies as st

from perpkt.result import Caveat, Estimate, Missing
from perpkt.testing import sample_row, sample_summary

if TYPE_CHECKING:
    from perpkt.analysis import Row, Summary

LONGEST_NAME = "rx/udp-socket-filtered-conntrack-all"
NAMES = st.text(st.sampled_from("abcxyz-/0"), min_size=1, max_size=36)
VALUES = st.one_of(st.floats(0.1, 99999.9), st.floats(allow_nan=True, allow_infinity=True))
REASONS = st.sampled_from(["OTHERHOST", "NO_SOCKET", "SOCKET_FILTER", "NEIGH_CREATEFAIL", "queued to the socket"])


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """A value with an interval round it, or none."""
    value = draw(VALUES)
    half = draw(st.one_of(st.floats(0, 99999.9), st.just(math.inf)))
    return Estimate(value, value - half, value + half)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A row of a path with any name, figures and fates."""
    cost = draw(estimates().filter(lambda one: one.value != 0))
    changes = st.none() | estimates()
    fate = draw(st.dictionaries(REASONS, st.integers(0, 10**10)))
    return sample_row(draw(NAMES), cost, step=draw(changes), difference=draw(changes), fate=fate)


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    """A summary with such rows, and caveats in any words."""
    words = st.text(max_size=300)
    return msgspec.structs.replace(
        sample_summary(),
        rows=tuple(draw(st.lists(rows(), min_size=1, max_size=6))),
        resolution_ns=draw(VALUES),
        unavailable=(Missing(draw(NAMES), draw(words), draw(words)),),
        caveats=(Caveat(draw(NAMES), draw(words)),),
    )


def extreme_summary() -> Summary:
    """The longest name with the largest figures, and the smallest cost beside it."""
    wide = Estimate(99999.9, -99999.9, 99999.9)
    negative = Estimate(-99999.9, -99999.9, -99999.9)
    tiny = Estimate(0.1, 0.1, 0.1)
    fate = {"NEIGH_CREATEFAIL": 1_234_567_890, "SOCKET_FILTER": 1}
    table = (
        sample_row(LONGEST_NAME, Estimate(99999.9, 0.1, 99999.9), step=wide, difference=negative, fate=fate),
        sample_row("rx/floor", tiny, step=negative, difference=wide),
    )
    return msgspec.structs.replace(sample_summary(), rows=table)
