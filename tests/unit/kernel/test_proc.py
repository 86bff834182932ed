"""kernel.proc: the texts of /proc."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from perpkt.errors import KernelError, Unsupported
from perpkt.kernel import proc

# Linux 6.18 in a namespace of its own, lines shortened.
SNMP = """\
Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams
Ip: 2 64 1534 0 0 0
Icmp: InMsgs InErrors InCsumErrors InDestUnreachs OutMsgs OutErrors OutRateLimitGlobal OutRateLimitHost
Icmp: 1 0 0 1 7 0 0 1527
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens
Tcp: 1 200 120000 -1 0
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 0 1534 3 1534 2 0 0 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 0 0 0 0 0 0 0 0 0
"""
INTERRUPTS = """\
           CPU0       CPU2
  1:          9          5   IO-APIC   1-edge      i8042
 24:       1000       2000   PCI-MSI 512000-edge      virtio0
LOC:     300000     400000   Local timer interrupts
RES:          0
"""


def test_parse_snmp() -> None:
    """Each counter stands under its protocol and its name, negative ones and like-named ones included."""
    found = proc.parse_snmp(SNMP)
    assert found["Udp NoPorts"] == 1534
    assert found["Udp RcvbufErrors"] == 2
    assert found["UdpLite NoPorts"] == 0
    assert found["Icmp OutMsgs"] == 7
    assert found["Tcp MaxConn"] == -1
    assert len(found) == 6 + 8 + 5 + 9 + 9


def test_snmp_is_this_threads() -> None:
    """The running kernel's counters can be read, those that paths rely on among them."""
    assert {"Udp NoPorts", "Udp InErrors", "Udp RcvbufErrors", "Icmp OutMsgs"} <= set(proc.snmp())


def test_read(tmp_path: Path) -> None:
    """A file is read without its last newline."""
    (tmp_path / "value").write_text(" 1 2\n")
    assert proc.read(str(tmp_path / "value")) == " 1 2"


def test_read_what_is_not_there(tmp_path: Path) -> None:
    """A missing file is a KernelError with its path and the kernel's reason, or the value that was offered for it."""
    missing = str(tmp_path / "missing")
    with pytest.raises(KernelError, match=f"^read {missing}: No such file or directory$") as caught:
        proc.read(missing)
    assert caught.value.errno == errno.ENOENT
    assert proc.read_or(missing, "unknown") == "unknown"


def test_sysctl_path() -> None:
    """A sysctl's name is its file."""
    assert proc.sysctl_path("net.ipv4.icmp_msgs_per_sec") == "/proc/sys/net/ipv4/icmp_msgs_per_sec"


def test_unknown_sysctl() -> None:
    """A sysctl that this kernel has not is Unsupported, by name."""
    with pytest.raises(Unsupported, match=r"no net\.perpkt\.none in a network namespace"):
        proc.write_sysctl("net.perpkt.none", "1")


@pytest.mark.parametrize(("cpu", "count"), [(0, 301_009), (2, 402_005), (1, 0), (3, 0)])
def test_interrupts(cpu: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU's own column is summed, found by its name; rows without it are passed over, and so is a CPU without one."""
    monkeypatch.setattr(proc, "read_or", lambda path, otherwise: INTERRUPTS)
    assert proc.interrupts(cpu) == count


def test_steal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steal is the eighth figure of a CPU's line, and CPU 1 is not taken for CPU 11."""
    stat = "cpu  1 2 3 4 5 6 7 80 9 0\ncpu11 1 2 3 4 5 6 7 60 9 0\ncpu1 1 2 3 4 5 6 7 20 9 0\nintr 5\n"
    monkeypatch.setattr(proc, "read", lambda path: stat)
    assert [proc.steal_ticks(cpu) for cpu in (1, 11, 5)] == [20, 60, 0]


def test_switches_do_not_go_back() -> None:
    """This thread's involuntary switches are counted upwards."""
    before = proc.involuntary_switches()
    assert proc.involuntary_switches() >= before >= 0
