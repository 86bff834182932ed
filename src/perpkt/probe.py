"""What this kernel and these privileges allow. Features are tried, never guessed from a version."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Iterable, Sequence

from perpkt import static_keys
from perpkt.errors import HostError, KernelError, NotPermitted, PerpktError, Unsupported
from perpkt.inject.live_frames import Holder
from perpkt.kernel import proc, signals
from perpkt.result import Host, Missing
from perpkt.spec import (
    U32,
    Classifier,
    IptablesRule,
    IptablesTable,
    Path,
    Qdisc,
    Stage,
    Sysctl,
    UdpSocket,
    Veth,
    by_lasting,
)
from perpkt.testbed import Testbed
from perpkt.version import own_version

# Capabilities as bits of CapEff: include/uapi/linux/capability.h
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21, "CAP_BPF": 39}

# What would help where a stage can't be made.
_REMEDIES: dict[type, str] = {
    Veth: "A kernel with CONFIG_VETH.",
    Qdisc: "A kernel with CONFIG_NET_SCH_INGRESS.",
    U32: "A kernel with CONFIG_NET_CLS_U32.",
    Classifier: "A kernel with CONFIG_NET_CLS_BPF (clsact), or CONFIG_NET_XGRESS (tcx, Linux 6.6 and later).",
    IptablesTable: "A kernel with CONFIG_IP_NF_IPTABLES_LEGACY and CONFIG_IP_NF_FILTER.",
    IptablesRule: "A kernel with CONFIG_NF_CONNTRACK and CONFIG_NETFILTER_XT_MATCH_CONNTRACK.",
    Sysctl: "Linux 6.12 and later have it in each namespace.",
    UdpSocket: "Root, for a receive buffer with room for a whole call.",
}


def missing_capabilities() -> list[str]:
    """The capabilities that live measurement needs and this process lacks."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", proc.read("/proc/self/status"), re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]


def check_privileges() -> None:
    """NotPermitted, with the remedy, where live measurement can't begin."""
    lacking = missing_capabilities()
    if lacking:
        raise NotPermitted(
            f"live measurement needs root: this process lacks {', '.join(lacking)}",
            "Run it as root (sudo perpkt ...); `perpkt doctor` says what else is missing.",
        )


def host() -> Host:
    """The facts that a result belongs to."""
    return Host(
        kernel=platform.release(),
        kernel_version=platform.version(),
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cpus_online=os.cpu_count() or 1,
        boot_id=proc.read_or("/proc/sys/kernel/random/boot_id", "unknown"),
        clocksource=proc.read_or("/sys/devices/system/clocksource/clocksource0/current_clocksource", "unknown"),
        mitigations=mitigations(),
        preemption=preemption(),
        virtualisation=virtualisation(),
        lsms=proc.read_or("/sys/kernel/security/lsm", "unknown"),
        cgroup_bpf="on" if _has_config("CONFIG_CGROUP_BPF") else "unknown",
        bpf_jit=_jit(),
        perpkt=own_version(),
    )


def _jit() -> str:
    enabled = proc.read_or("/proc/sys/net/core/bpf_jit_enable", "unknown")
    hardened = proc.read_or("/proc/sys/net/core/bpf_jit_harden", "0")
    return enabled if hardened == "0" else f"{enabled}, hardened {hardened}"


def _cpu_model() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", proc.read_or("/proc/cpuinfo", ""), re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown"


def mitigations() -> dict[str, str]:
    """CPU vulnerabilities that concern this CPU, and what the kernel does about each."""
    folder = "/sys/devices/system/cpu/vulnerabilities"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found = {name: proc.read_or(f"{folder}/{name}", "unknown") for name in names}
    return {name: words for name, words in found.items() if words != "Not affected"}


def preemption() -> str:
    """The preemption model that the kernel runs with, as far as it says."""
    chosen = re.search(r"\((\w+)\)", proc.read_or("/sys/kernel/debug/sched/preempt", ""))
    built = re.search(r"PREEMPT\w*", platform.version())
    words = built[0] if built else "no PREEMPT in the kernel's version"
    if chosen:
        return f"{words} ({chosen[1]})"
    models = {"NONE": "none", "VOLUNTARY": "voluntary", "LAZY": "lazy"}
    default = next((model for option, model in models.items() if _has_config(f"CONFIG_PREEMPT_{option}")), "")
    return f"{words} (built for {default})" if default else words


def virtualisation() -> str:
    """none, or who runs this machine as a guest."""
    if not re.search(r"^flags\s*:.*\bhypervisor\b", proc.read_or("/proc/cpuinfo", ""), re.MULTILINE):
        return "none"
    vendor = proc.read_or("/sys/class/dmi/id/sys_vendor", "")
    return f"guest ({vendor})" if vendor else "guest"


def _has_config(option: str) -> bool:
    import gzip  # noqa: PLC0415 - only here

    try:
        with gzip.open("/proc/config.gz", "rt") as config:
            return any(line.strip() == f"{option}=y" for line in config)
    except OSError:
        return f"{option}=y" in proc.read_or(f"/boot/config-{platform.release()}", "")


def cpus() -> set[int]:
    """The CPUs that this process may run on."""
    return os.sched_getaffinity(0)


def check_live() -> None:
    """NotPermitted, ToolMissing or Unsupported, with the remedy, where nothing can be measured live."""
    check_privileges()
    try:
        with contextlib.closing(Holder("probe")) as holder, holder.injector() as injector:
            injector.try_out()
    except KernelError as error:
        if error.is_limit:
            raise
        raise Unsupported(
            f"this kernel sends no live XDP frames: {error}",
            "Live frames need Linux 5.18 or later with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_VETH; "
            "a container needs to be privileged.",
        ) from None


def availability(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Missing, ...]]:
    """The paths that can be built here, and for each other one why not and what would help. Needs root."""
    tried = list(paths)
    missing = _without_key(tried)
    for number, (lasting, members) in enumerate(by_lasting(tried).items()):
        missing.update(_try_group(f"try{number}", lasting, members))
    return tuple(path for path in tried if path.name not in missing), tuple(missing.values())


def _without_key(paths: Iterable[Path]) -> dict[str, Missing]:
    """The paths that show what a static key costs, where somebody else holds it on already."""
    held = {one.key: one.by for one in static_keys.held_by_others()}
    return {
        path.name: Missing(path.name, f"{held[path.key_off]} holds {path.key_off} on already", "End it for the run.")
        for path in paths
        if path.key_off in held
    }


def _try_group(label: str, lasting: Sequence[Stage], members: Sequence[Path]) -> dict[str, Missing]:
    testbed = Testbed(label, lasting)
    try:
        with testbed.built():
            found = {path.name: _try_path(testbed, path) for path in members}
    except (KernelError, HostError) as error:
        return {path.name: _missing(path, lasting, error) for path in members}
    return {name: one for name, one in found.items() if one}


def _try_path(testbed: Testbed, path: Path) -> Missing | None:
    signals.check()
    try:
        with testbed.attached(path) as attachment:
            attachment.snapshot(attachment.counters())
    except PerpktError as error:
        return _missing(path, path.passing, error)
    return None


def _missing(path: Path, stages: Sequence[Stage], error: PerpktError) -> Missing:
    if isinstance(error, HostError):
        return Missing(path.name, error.reason, error.remedy)
    if isinstance(error, KernelError) and error.is_limit:
        raise error
    # the last stage of a kind with a remedy is what the path adds
    remedies = [_REMEDIES[type(stage)] for stage in stages if type(stage) in _REMEDIES]
    return Missing(path.name, str(error), remedies[-1] if remedies else "")
