"""stats.interval: coverage by simulation, and figures computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpkt.stats.interval import FEWEST, bootstrap_t, standard_error
from perpkt.stats.location import Floats, trimmed_mean

from .test_location import TRIMMED

# Of the samples of test_location: scipy 1.17.1's stats.mstats.trimmed_stde(values, (0.2, 0.2)), and the same from
# the half width of stats.mstats.trimmed_mean_ci over the t quantile with n - 2 k - 1 degrees of freedom.
ERRORS = [0.11360262125301933, 0.23359885986204248, 0.2898529640019936]

SIMULATIONS = 300


def normal(random: np.random.Generator, count: int) -> Floats:
    """No tail to speak of."""
    return random.normal(0, 1, count)


def heavy(random: np.random.Generator, count: int) -> Floats:
    """Student's t with 3 degrees of freedom."""
    return random.standard_t(3, count)


def contaminated(random: np.random.Generator, count: int) -> Floats:
    """One of seven clusters comes from a distribution ten times as wide."""
    return random.normal(0, 1, count) * np.where(random.random(count) < 0.15, 10, 1)


@pytest.mark.parametrize("count", [12, 25])
@pytest.mark.parametrize("draw", [normal, heavy, contaminated])
def test_coverage(draw: Callable[[np.random.Generator, int], Floats], count: int) -> None:
    """About 95 of 100 intervals hold the true value, with few clusters and with heavy tails."""
    random = np.random.default_rng(1)
    intervals = [bootstrap_t(draw(random, count)) for _ in range(SIMULATIONS)]
    covered = sum(low <= 0 <= high for _, low, high in intervals) / SIMULATIONS
    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize(
    ("values", "error"), list(zip([values for values, _ in TRIMMED], ERRORS, strict=True)), ids=["5", "12", "25"]
)
def test_standard_error(values: list[float], error: float) -> None:
    """The standard error of the trimmed mean is scipy's."""
    assert float(standard_error(np.array(values))) == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("count", range(FEWEST))
def test_too_few_clusters(count: int) -> None:
    """With fewer than five clusters the interval is infinite, not a guess; with none there is no value either."""
    values = np.arange(float(count))
    centre, low, high = bootstrap_t(values)
    assert (low, high) == (-math.inf, math.inf)
    assert math.isnan(centre) if count == 0 else centre == pytest.approx(float(values.mean()))


def test_five_clusters_are_enough() -> None:
    """With five clusters the interval is finite."""
    _, low, high = bootstrap_t(np.array([1.0, 2, 3, 4, 5]))
    assert math.isfinite(low)
    assert math.isfinite(high)


def test_no_spread() -> None:
    """Clusters that all agree have an interval of no width, and no division by zero."""
    assert bootstrap_t(np.full(12, 305.0)) == (305.0, 305.0, 305.0)


SAMPLES = st.lists(st.integers(-1000, 1000).map(float), min_size=FEWEST, max_size=30).map(np.array)


@settings(max_examples=50, deadline=None)
@given(SAMPLES)
def test_symmetric(values: Floats) -> None:
    """The value is the trimmed mean, in the middle of its interval, and the same each time."""
    centre, low, high = bootstrap_t(values)
    assert centre == float(trimmed_mean(values))
    assert low <= centre <= high
    assert high - centre == pytest.approx(centre - low, abs=1e-6)
    assert bootstrap_t(values) == (centre, low, high)


@settings(max_examples=50, deadline=None)
@given(SAMPLES, st.integers(-1000, 1000), st.sampled_from([0.5, 2.0, 8.0]))
def test_moves_and_scales_with_the_data(values: Floats, shift: int, scale: float) -> None:
    """Another origin or unit moves and scales the interval, and changes nothing else."""
    expected = [scale * bound + shift for bound in bootstrap_t(values)]
    assert bootstrap_t(scale * values + shift) == pytest.approx(expected, abs=1e-6)


def test_more_confidence_is_wider() -> None:
    """A 99 % interval is wider than one of 80 %."""
    values = np.array(TRIMMED[1][0])
    widths = [high - low for _, low, high in (bootstrap_t(values, share) for share in (0.8, 0.95, 0.99))]
    assert widths[0] < widths[1] < widths[2]
