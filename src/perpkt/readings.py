"""Calls -> one location each, by path, copy and round: what costs and differences are made of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from perpkt.result import Call
from perpkt.stats import location
from perpkt.stats.location import Floats

Locator = Callable[[Floats], float]


def per_packet(call: Call) -> Floats:
    """A call's windows in ns/packet."""
    return np.asarray(call.windows_ns, dtype=float) / call.window_packets


class Readings:
    """One location for each call, by path, copy and round: what differences are made of.

    Rounds may be added while a run goes on; `locate` reads one call's windows.
    """

    def __init__(self, rounds: Iterable[Sequence[Call]] = (), locate: Locator = location.quiet_mode_median) -> None:
        self._locate = locate
        self._located: defaultdict[str, list[tuple[int, int, float]]] = defaultdict(list)
        self.rounds = 0
        for calls in rounds:
            self.add(calls)

    def add(self, calls: Sequence[Call]) -> None:
        """Add one round."""
        for call in calls:
            self._located[call.path].append((self.rounds, call.copy, self._locate(per_packet(call))))
        self.rounds += 1

    def of(self, path: str, copy: int | None = None) -> Floats:
        """The mean of the path's quiet calls in each round, NaN where there was none; `copy` None: of all copies."""
        calls = self._quiet(path)
        kept = calls if copy is None else calls[calls[:, 1] == copy]
        rounds = kept[:, 0].astype(np.int64)
        sums = np.bincount(rounds, kept[:, 2], self.rounds)
        counts = np.bincount(rounds, minlength=self.rounds)
        means: Floats = np.divide(sums, counts, out=np.full(self.rounds, math.nan), where=counts > 0)
        return means

    def _quiet(self, path: str) -> Floats:
        """Rows of round, copy, location. What is quiet is judged over all copies, so that it is the same for each."""
        calls = np.array(self._located[path], dtype=float).reshape(-1, 3)
        return calls[calls[:, 2] <= location.quiet_limit(calls[:, 2])] if len(calls) else calls

    def is_pair(self, path: str) -> bool:
        """Whether the path was measured as an A/A pair."""
        return any(copy == 1 for _, copy, _ in self._located[path])

    def quiet_calls(self, path: str) -> float:
        """The share of the path's calls that were quiet."""
        calls = len(self._located[path])
        return len(self._quiet(path)) / calls if calls else 0.0
