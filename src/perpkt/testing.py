"""Fakes to test with: a result, its summary, a clock and a runner; the same on every machine, and without numpy."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from perpkt.result import Call, Caveat, Estimate, Heading, Host, Missing, Result, Verification
from perpkt.spec import U32, Address, Counter, Fate, Flow, Path, Plan, Qdisc, Veth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perpkt.analysis import Row, Summary
    from perpkt.measure.schedule import Group, Slot

# What a packet costs on the paths of the sample, in ns.
SAMPLE_COSTS_NS = {"rx/other-host": 305.0, "rx/ingress": 317.8, "rx/ingress-u32": 361.0}
_SUMMARIES = {
    "rx/other-host": "another host's MAC, dropped in ip_rcv",
    "rx/ingress": "adding an ingress qdisc to the device",
    "rx/ingress-u32": "adding a filter u32 match u32 0 0",
}
_SAME_PATH = ("rx/other-host",)
_WINDOW_PACKETS = 512
_QUIET_SHARE = 0.4
_CALL_SPREAD_NS = 0.3
_SET_UP_NS = 20_000_000
_WITNESS = {"OTHERHOST": "link v0 rx_otherhost_dropped"}


def sample_host() -> Host:
    """A two-core KVM guest."""
    return Host(
        kernel="6.12.0-1-amd64",
        kernel_version="#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1 (2024-11-30)",
        machine="x86_64",
        cpu_model="AMD EPYC 7763 64-Core Processor",
        cpus_online=2,
        boot_id="c0ffee00-0000-4000-8000-000000000001",
        clocksource="kvm-clock",
        mitigations={
            "meltdown": "Not affected",
            "spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization",
            "spectre_v2": "Mitigation: Retpolines; IBPB: conditional; STIBP: disabled; RSB filling",
        },
        preemption="voluntary",
        virtualisation="kvm",
        lsms="capability,landlock,yama",
        cgroup_bpf="none",
        bpf_jit="on",
        perpkt="0.1.0",
    )


def sample_plan() -> Plan:
    """Three paths of the rx ladder: another host's MAC, + an ingress qdisc, + a u32 filter."""
    veth = (Veth("v0", "02:00:00:00:00:01", "v1", "02:00:00:00:00:02"), Address("v0", "198.18.0.1/24"))
    steps = ((), (Qdisc("v0"),), (Qdisc("v0"), U32("v0")))
    fate = Fate("OTHERHOST", Counter("link", "v0 rx_otherhost_dropped"))
    paths = tuple(
        Path(name, _SUMMARIES[name], (*veth, *stages), Flow(to="other-host"), (fate,))
        for name, stages in zip(SAMPLE_COSTS_NS, steps, strict=True)
    )
    return Plan(ladders=("rx",), named=(), paths=paths, reference="rx/other-host", time_s=20.0, seed=1)


def sample_result(
    *, rounds: int = 6, testbeds: int = 2, windows: int = 20, seed: int = 1, costs_ns: dict[str, float] | None = None
) -> Result:
    """A result of `rounds` rounds, whose calls have `windows` windows each; four of ten windows are quiet.

    `costs_ns`: what to put in place of SAMPLE_COSTS_NS, path by path.
    """
    rng = random.Random(seed)  # noqa: S311 - figures for tests, no secrets
    costs = SAMPLE_COSTS_NS | (costs_ns or {})
    return Result(_heading(), tuple(_round(rng, costs, number % testbeds, windows) for number in range(rounds)))


def _heading() -> Heading:
    plan = sample_plan()
    verified = tuple(
        Verification(path.name, 4096, {"OTHERHOST": 4096}, _WITNESS, {}, {"OTHERHOST": 4096}, traced=True)
        for path in plan.paths
    )
    missing = Missing("rx/iptables-raw", "iptables-legacy is not installed", "apt-get install iptables")
    return Heading("0.1.0", "2026-01-02T03:04:05Z", sample_host(), plan, verified, _SAME_PATH, (missing,))


def _round(rng: random.Random, costs: dict[str, float], testbed: int, windows: int) -> tuple[Call, ...]:
    runs = [(name, copy) for name in costs for copy in range(1 + (name in _SAME_PATH))]
    rng.shuffle(runs)
    return tuple(
        sample_call(
            name, _windows_ns(rng, rng.gauss(costs[name], _CALL_SPREAD_NS), windows), copy=copy, testbed=testbed
        )
        for name, copy in runs
    )


def sample_call(path: str, windows_ns: list[int], *, copy: int = 0, testbed: int = 0) -> Call:
    """A call of 512 packets a window, each of them counted as another host's."""
    sent = len(windows_ns) * _WINDOW_PACKETS
    return Call(
        path=path,
        testbed=testbed,
        sent=sent,
        fate={"OTHERHOST": sent},
        elapsed_ns=_SET_UP_NS + sum(windows_ns),
        window_packets=_WINDOW_PACKETS,
        windows_ns=windows_ns,
        copy=copy,
    )


def _windows_ns(rng: random.Random, cost_ns: float, windows: int) -> list[int]:
    """The durations of a call's windows: quiet ones, and some half as long again."""
    slowdowns = [1.0 if rng.random() < _QUIET_SHARE else rng.uniform(1.3, 1.5) for _ in range(windows)]
    return [round(_WINDOW_PACKETS * cost_ns * slowdown + rng.expovariate(0.01)) for slowdown in slowdowns]


def sample_summary() -> Summary:
    """What could be said of such a result; its figures are set by hand, not computed from one."""
    from perpkt.analysis import SamePath, Summary  # noqa: PLC0415 - analysis needs numpy, and this module must not

    return Summary(
        reference="rx/other-host",
        rows=_rows(),
        same_path=(SamePath("rx/other-host", Estimate(0.1, -0.2, 0.3)),),
        resolution_ns=0.42,
        quiet_share=0.4,
        rounds=6,
        testbeds=2,
        duration_s=19.8,
        timed_share=0.63,
        unavailable=_heading().unavailable,
        caveats=(Caveat("static-key", "another namespace holds ingress_needed_key on", "rx/ingress"),),
    )


def _rows() -> tuple[Row, ...]:
    costs = (Estimate(305.0, 304.8, 305.3), Estimate(317.8, 317.4, 318.1), Estimate(361.0, 360.5, 361.4))
    steps = (None, Estimate(12.8, 12.5, 13.1), Estimate(43.2, 42.9, 43.6))
    differences = (None, Estimate(12.8, 12.5, 13.1), Estimate(56.0, 55.6, 56.5))
    rows = zip(SAMPLE_COSTS_NS, costs, steps, differences, strict=True)
    return tuple(sample_row(name, cost, step=step, difference=difference) for name, cost, step, difference in rows)


def sample_row(
    name: str,
    cost: Estimate,
    *,
    step: Estimate | None = None,
    difference: Estimate | None = None,
    fate: dict[str, int] | None = None,
) -> Row:
    """A row of a summary: all packets are another host's unless `fate` says otherwise."""
    from perpkt.analysis import Row  # noqa: PLC0415 - analysis needs numpy, and this module must not

    fates = {"OTHERHOST": 122_880} if fate is None else fate
    return Row(
        name=name,
        summary=_SUMMARIES.get(name, name),
        cost=cost,
        typical_ns=1.35 * cost.value,
        rate_pps=1e9 / cost.value,
        difference=difference,
        step=step,
        sent=sum(fates.values()),
        fate=fates,
        witness=_WITNESS,
        road="list receive, batch 64, route hint not reached, no GRO on this road",
        quiet_share=0.4,
    )


class FakeClock:
    """Seconds that pass only when `advance` is told so; a measure.session.Session's `clock`."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        """The time now."""
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


class ScriptedRunner:
    """A measure.session.Runner without a machine: `script` gives the call for each slot of round 0, 1, 2, ...

    Each round takes `round_s` of `clock`; `orders` keeps the groups of each round.
    """

    def __init__(self, script: Callable[[Slot, int], Call], clock: FakeClock, round_s: float = 1.0) -> None:
        self.orders: list[Sequence[Group]] = []
        self._script = script
        self._clock = clock
        self._round_s = round_s

    def run_round(self, groups: Sequence[Group]) -> tuple[Call, ...]:
        """The scripted calls of one round, in order."""
        number = len(self.orders)
        self.orders.append(groups)
        self._clock.advance(self._round_s)
        return tuple(self._script(slot, number) for group in groups for slot in group.slots)
