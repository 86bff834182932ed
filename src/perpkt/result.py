"""The answer: what was measured, on what, with which reasons to doubt. Frozen data, one JSON document."""

from __future__ import annotations

import msgspec

from perpkt.spec import Plan, Record

SCHEMA = 1


class Caveat(Record, frozen=True):
    """A recorded reason to doubt; `about` names a path, or is empty for the whole run."""

    code: str
    text: str
    about: str = ""


class Estimate(Record, frozen=True):
    """A value with its 95 % interval, in the unit that its name ends with."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The interval's width; infinite where too few calls were quiet to give one."""
        return self.high - self.low

    @property
    def holds_zero(self) -> bool:
        """Whether the interval holds 0: the two sides can't be told apart."""
        return self.low <= 0.0 <= self.high


class Host(Record, frozen=True):
    """What the figures belong to: results of unlike hosts are never merged or compared as alike."""

    kernel: str
    kernel_version: str
    machine: str
    cpu_model: str
    cpus_online: int
    boot_id: str
    clocksource: str
    mitigations: dict[str, str]
    preemption: str
    virtualisation: str
    lsms: str
    cgroup_bpf: str
    bpf_jit: str
    perpkt: str


class Call(Record, frozen=True):
    """One timed injection of `sent` frames into one path.

    `windows_ns`: the duration of each `window_packets` packets, in order. `fate`: packets by
    reason, from counters other than the injector's. `copy`: 1 for the second half of an A/A
    pair. `elapsed_ns`: wall time since the call before ended, so that their sum is the run's.
    What disturbed it: involuntary switches of this thread, steal and interrupts of its CPU, other
    perpkt runs (`others`).
    """

    path: str
    testbed: int
    sent: int
    fate: dict[str, int]
    elapsed_ns: int
    window_packets: int
    windows_ns: list[int]
    copy: int = 0
    switches: int = 0
    steal_ms: int = 0
    interrupts: int = 0
    others: int = 0


class Verification(Record, frozen=True):
    """A path's packets before timing: counted by each witness, with the kernel's drop reasons.

    `drop_reasons`: skb:kfree_skb filtered to the testbed; empty with `traced` False where the
    kernel could not be asked. `witness`: who counted each reason.
    """

    path: str
    sent: int
    fate: dict[str, int]
    witness: dict[str, str]
    crossed: dict[str, int]
    drop_reasons: dict[str, int]
    traced: bool


class Missing(Record, frozen=True):
    """A path that can't be measured here, why, and what would help."""

    name: str
    reason: str
    remedy: str


class Heading(Record, frozen=True):
    """Everything of a Result but its rounds: known before the first packet is timed.

    `same_path`: paths that run twice in each round. `measured_at`: ISO 8601, UTC.
    """

    perpkt: str
    measured_at: str
    host: Host
    plan: Plan
    verifications: tuple[Verification, ...]
    same_path: tuple[str, ...]
    unavailable: tuple[Missing, ...] = ()
    caveats: tuple[Caveat, ...] = ()


class Result(Record, frozen=True):
    """A heading and the rounds; each round is the calls that it made, in order."""

    heading: Heading
    rounds: tuple[tuple[Call, ...], ...] = ()

    @property
    def calls(self) -> list[Call]:
        """All calls in order."""
        return [call for calls in self.rounds for call in calls]

    @property
    def duration_s(self) -> float:
        """Wall time of all rounds, the making and taking away of their testbeds included."""
        return sum(call.elapsed_ns for call in self.calls) / 1e9

    def with_round(self, calls: tuple[Call, ...]) -> Result:
        """This result and one more round."""
        return msgspec.structs.replace(self, rounds=(*self.rounds, calls))
