"""stats.location: where a disturbed sample lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.stats.location import low_quantile, quiet_limit, quiet_mode_median, trimmed_mean

COSTS = st.lists(st.floats(1, 1e6), min_size=1, max_size=60)

# Student's t with 2 degrees of freedom round 300, rounded; what scipy 1.17.1's stats.trim_mean(values, 0.2) says.
TRIMMED = [
    ([300.0, 299.71, 299.75, 300.04, 299.1], 299.82),
    (
        [300.88, 300.1, 299.94, 299.01, 297.78, 299.75, 301.11, 299.79, 299.22, 300.1, 299.12, 298.98],
        299.62874999999997,
    ),
    (
        [
            291.14, 301.77, 299.94, 300.03, 300.05, 297.19, 300.11, 305.61, 298.84, 301.84, 300.5, 300.79, 299.23,
            298.78, 298.74, 298.79, 301.11, 298.95, 298.41, 299.84, 300.84, 298.9, 301.06, 298.07, 299.83,
        ],
        299.6946666666667,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), TRIMMED, ids=["5", "12", "25"])
def test_trimmed_mean(values: list[float], expected: float) -> None:
    """The 20 % trimmed mean is scipy's."""
    assert float(trimmed_mean(np.array(values))) == pytest.approx(expected, rel=1e-12)


def test_trimmed_mean_along_the_last_axis() -> None:
    """Several samples are each trimmed by themselves."""
    values = np.array([[1.0, 2, 3, 4, 100], [-100, 5, 6, 7, 8]])
    assert trimmed_mean(values).tolist() == [3.0, 6.0]


@given(COSTS)
def test_trimmed_mean_is_inside(values: list[float]) -> None:
    """A trimmed mean lies within the sample, whatever its size."""
    assert min(values) * (1 - 1e-12) <= float(trimmed_mean(np.array(values))) <= max(values) * (1 + 1e-12)


def test_low_quantile() -> None:
    """The quantile is interpolated between the two nearest values."""
    assert low_quantile([0.0, 10, 20, 30, 40], 0.10) == pytest.approx(4.0)
    assert low_quantile(np.arange(101.0), 0.02) == pytest.approx(2.0)


@given(COSTS, st.floats(1.05, 3))
def test_low_quantile_ignores_what_is_above(values: list[float], factor: float) -> None:
    """Disturbing the dearer half of a sample further does not move its low end."""
    ordered = np.sort(np.array(values))
    half = len(ordered) // 2 + 1
    disturbed = np.concatenate([ordered[:half], factor * ordered[half:]])
    assert low_quantile(disturbed, 0.1) == pytest.approx(low_quantile(ordered, 0.1))


def test_quiet_limit() -> None:
    """Calls within 4 % of the low end are quiet, and those beyond are not."""
    calls = np.array([300.0] * 10 + [311, 313, 420])
    assert (calls <= quiet_limit(calls)).tolist() == [True] * 11 + [False] * 2


@given(COSTS)
def test_some_call_is_always_quiet(values: list[float]) -> None:
    """The cheapest call is under the limit: a sample never loses all of its calls."""
    assert min(values) <= quiet_limit(np.array(values))


@pytest.mark.parametrize("disturbed", [0, 30, 60])
def test_quiet_mode_median(disturbed: int) -> None:
    """The median of the quiet mode is that of the undisturbed windows, be there others or not."""
    quiet = 300 + np.linspace(0, 4, 41)
    assert quiet_mode_median(np.concatenate([quiet, np.full(disturbed, 420.0)])) == pytest.approx(302.0)
