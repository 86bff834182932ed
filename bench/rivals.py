"""Rival ways to read a difference from the same calls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perpkt.readings import Readings, per_packet
from perpkt.result import Call
from perpkt.stats import location
from perpkt.stats.interval import bootstrap_t
from perpkt.stats.location import Floats


def shipped(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Value, low, high of a difference as `perpkt run` gives them."""
    paired = a - b
    return bootstrap_t(paired[~np.isnan(paired)])


Estimator = Callable[[list[list[Call]], tuple[str, int], tuple[str, int]], float]


def _paired(locate: Callable[[Floats], float]) -> Estimator:
    def estimate(rounds: list[list[Call]], a: tuple[str, int], b: tuple[str, int]) -> float:
        readings = Readings(rounds, locate)
        return shipped(readings.of(*a), readings.of(*b))[0]

    return estimate


def _pooled(share: float) -> Estimator:
    def windows(rounds: list[list[Call]], which: tuple[str, int]) -> Floats:
        return np.concatenate(
            [per_packet(call) for calls in rounds for call in calls if (call.path, call.copy) == which]
        )

    def estimate(rounds: list[list[Call]], a: tuple[str, int], b: tuple[str, int]) -> float:
        return location.low_quantile(windows(rounds, a), share) - location.low_quantile(windows(rounds, b), share)

    return estimate


RIVALS: dict[str, Estimator] = {
    "pooled 2 % quantile": _pooled(0.02),
    "pooled 5 % quantile": _pooled(0.05),
    "pooled 10 % quantile": _pooled(0.10),
    "pooled median": _pooled(0.50),
    "paired calls, 2 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.02)),
    "paired calls, 10 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.1)),
    "paired calls, 25 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.25)),
    "paired calls, median of the quiet mode (shipped)": _paired(location.quiet_mode_median),
    "paired calls, median": _paired(lambda windows: location.low_quantile(windows, 0.5)),
}
