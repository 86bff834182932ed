"""Everything that `perpkt doctor` says, as data."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from typing import Literal

from perpkt import probe, static_keys
from perpkt.errors import HostError, PerpktError
from perpkt.kernel import command, netns
from perpkt.kernel.drop_reasons import DropReasons, netns_cookie
from perpkt.paths import CATALOGUE
from perpkt.spec import Record

_PURPOSES = {
    "ip": "namespaces and devices",
    "tc": "qdiscs and filters",
    "iptables-legacy": "the iptables rungs",
    "nft": "to see netfilter hooks that others hold",
}
_NEEDED_TOOLS = {"ip", "tc"}
# Clocks that count the CPU's own time, and are read without leaving it.
_STEADY_CLOCKS = {"tsc", "arch_sys_counter", "kvm-clock"}


class Finding(Record, frozen=True):
    """One thing that was looked at. `needed`: nothing can be measured live without it."""

    area: str
    name: str
    state: Literal["ok", "doubt", "missing"]
    words: str
    remedy: str = ""
    needed: bool = False


def diagnose() -> list[Finding]:
    """All findings. Needs no privilege; makes and deletes namespaces of its own where it may."""
    return [*_host(), *_privileges(), *_tools(), *_features(), *_disturbances()]


def _host() -> Iterator[Finding]:
    host = probe.host()
    facts = {
        "kernel": f"{host.kernel} {host.kernel_version}",
        "CPU": f"{host.cpu_model}, {host.cpus_online} online, {host.machine}",
        "virtualisation": host.virtualisation,
        "preemption": host.preemption,
        "LSMs": host.lsms,
        "cgroup BPF": host.cgroup_bpf,
        "BPF JIT": {"0": "off", "1": "on", "2": "on, with dumps"}.get(host.bpf_jit, host.bpf_jit),
    }
    yield from (Finding("host", name, "ok", words or "unknown") for name, words in facts.items())
    steady = host.clocksource in _STEADY_CLOCKS
    remedy = "" if steady else "Windows are timed by it: boot with a TSC or another CPU clock."
    yield Finding("host", "clock", "ok" if steady else "doubt", host.clocksource, remedy)
    for name, words in host.mitigations.items():
        yield Finding("mitigations", name, "ok", words)


def _privileges() -> Iterator[Finding]:
    lacking = probe.missing_capabilities()
    for name in probe.CAPABILITIES:
        state: Literal["ok", "missing"] = "missing" if name in lacking else "ok"
        remedy = "Run as root (sudo perpkt ...)." if name in lacking else ""
        yield Finding("privileges", name, state, "lacking" if name in lacking else "held", remedy, needed=True)


def _tools() -> Iterator[Finding]:
    for tool, purpose in _PURPOSES.items():
        found = shutil.which(tool, path=command.search_path())
        remedy = "" if found else f"apt-get install {command.PACKAGES[tool]}"
        words = f"{found or 'not installed'}: {purpose}"
        yield Finding("tools", tool, "ok" if found else "missing", words, remedy, needed=tool in _NEEDED_TOOLS)


def _features() -> Iterator[Finding]:
    try:
        probe.check_live()
    except HostError as error:
        yield Finding("features", "live frames", "missing", error.reason, error.remedy, needed=True)
        return
    yield Finding("features", "live frames", "ok", "BPF_PROG_TEST_RUN sends live XDP frames")
    yield _drop_reasons()
    missing = {one.name: one for one in probe.availability(CATALOGUE)[1]}
    for path in CATALOGUE:
        if path.name in missing:
            yield Finding("paths", path.name, "missing", missing[path.name].reason, missing[path.name].remedy)
        else:
            yield Finding("paths", path.name, "ok", path.summary)


def _drop_reasons() -> Finding:
    try:
        with DropReasons(netns_cookie()):
            return Finding("features", "drop reasons", "ok", "skb:kfree_skb and BTF say why a packet was dropped")
    except PerpktError as error:
        remedy = getattr(error, "remedy", "")
        return Finding("features", "drop reasons", "missing", str(error).splitlines()[0], remedy)


def _disturbances() -> Iterable[Finding]:
    held = static_keys.held_by_others()
    for one in held:
        words = f"{one.by} holds {one.key} on"
        yield Finding("static keys", "held by others", "doubt", words, "It is in every figure: end it for the run.")
    if not held:
        yield Finding("static keys", "held by others", "ok", "none seen (a socket's time stamps can't be seen)")
    for pid in netns.others():
        yield Finding(
            "runs",
            "another perpkt",
            "doubt",
            f"pid {pid} is measuring",
            "Wait for it, or give each run a CPU of its own (--cpu).",
        )
    for name in netns.ownerless():
        yield Finding("runs", "left behind", "doubt", f"namespace {name}", "perpkt doctor --clean")
