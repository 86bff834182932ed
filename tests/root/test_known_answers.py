"""Costs that are known beforehand."""

from __future__ import annotations

import numpy as np

import known_answers
from perpkt.instruments import choose

COUNTS = (1, 10, 50, 100)


def test_filters_that_do_not_match_cost_the_same_each() -> None:
    """1, 10, 50 and 100 u32 filters that do not match lie on a line, each point within max(2 ns, 3 %)."""
    table = known_answers.costs(choose.measure(known_answers.plan_for(COUNTS, 12.0)), COUNTS)
    (slope, low, high), line = known_answers.fit(COUNTS, table)
    assert 0 < low <= slope <= high
    for cost, on_line in zip(np.median(table, axis=0), line, strict=True):
        assert abs(cost - on_line) <= max(2.0, 0.03 * on_line)
