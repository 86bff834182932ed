"""Where a sample lies when the machine disturbs part of it: always upwards, sometimes all of a call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Chosen by the experiment in docs/method.md.
MODE_ANCHOR = 0.02
QUIET_ANCHOR = 0.10
QUIET_ABOVE = 0.04
TRIM = 0.2


def low_quantile(values: Sequence[float] | Floats, share: float) -> float:
    """The value below which `share` of the sample lies (interpolated)."""
    return float(np.quantile(np.asarray(values, dtype=float), share))


def quiet_limit(locations: Floats) -> float:
    """A call above this was disturbed as a whole: QUIET_ABOVE over the low end of all calls of its path."""
    return (1 + QUIET_ABOVE) * low_quantile(locations, QUIET_ANCHOR)


def quiet_mode_median(windows: Floats) -> float:
    """The median of the windows that are at most QUIET_ABOVE over their 2 % quantile."""
    return float(np.median(windows[windows <= (1 + QUIET_ABOVE) * low_quantile(windows, MODE_ANCHOR)]))


def trimmed_mean(values: Floats, trim: float = TRIM) -> Floats:
    """The mean without the lowest and highest `trim` share, along the last axis."""
    cut = int(trim * values.shape[-1])
    ordered = np.sort(values, axis=-1)
    kept: Floats = ordered[..., cut : values.shape[-1] - cut].mean(axis=-1)
    return kept
