"""Why packets were dropped in one network namespace: a histogram of the kfree_skb tracepoint's reasons.

The tracepoint is machine-wide, so the program looks for the namespace's cookie: by the skb's
device, by the receiving socket that the tracepoint names (since Linux kernel commit
"net: add rx_sk to trace_kfree_skb" (in v6.11)), and by the skb's route. A road that leads
nowhere reads as zero and matches no cookie. All three are needed, since each is missing at times:

- skb->dev holds at drops in the device, in ip_rcv, by a socket filter, without a socket and, since
  the check comes first, at a full UDP receive buffer. From udp_set_dev_scratch() on the
  same 8 bytes hold lengths and flags, and TCP sets them to NULL.
- the route is let go of before a UDP packet is queued (ipv4_pktinfo_prepare), TCP keeps it.
- so a UDP packet dropped after udp_set_dev_scratch() (PROTO_MEM; on kernels before v6.11 also
  SOCKET_RCVBUFF when two CPUs fill one socket at once) is known by its receiving socket alone,
  and a kernel that does not name the socket leaves it out of the counts.

Packets still queued when a UDP socket is closed are freed after an RCU grace period with none
of the three (seen on 6.18, as NOT_SPECIFIED) and are left out: read the socket empty first.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from perpkt.errors import BpfError, KernelError, NotPermitted, PerpktError, Unsupported
from perpkt.kernel import bpf, btf
from perpkt.wire import insn

if TYPE_CHECKING:
    import mmap

SO_NETNS_COOKIE = 71

# The core's reasons, the last bucket for all above it, then the subsystems', likewise.
_CORE_BUCKETS, _SUBSYSTEM_BUCKETS = 1024, 64
_HISTOGRAM_BYTES = 8 * (_CORE_BUCKETS + _SUBSYSTEM_BUCKETS)
_SUBSYSTEM_SHIFT = 16  # SKB_DROP_REASON_SUBSYS_SHIFT of include/net/dropreason.h

_REMEDY = "Drop reasons need Linux 5.17 or later, BPF tracing and BTF (CONFIG_BPF_EVENTS, CONFIG_DEBUG_INFO_BTF)."
_SKB, _REASON, _RX_SK = 0, 16, 24  # bytes into the raw tracepoint's context: skb, location, reason, rx_sk
_SKB_REGISTER, _REASON_REGISTER, _RX_SK_REGISTER, _COOKIE_REGISTER = 6, 7, 8, 9
_SCRATCH = -8  # bytes from the frame pointer
_NO_REFERENCE = -2  # SKB_DST_PTRMASK: the lowest bit of skb->_skb_refdst is a flag


@dataclass(frozen=True, slots=True)
class _Road:
    """A chain of pointers from `register` to a namespace's cookie: each offset is read at the pointer before it."""

    register: int
    offsets: tuple[int, ...]


class DropReasons:
    """Counts the drops in the namespace of `netns_cookie` while entered.

    Raises Unsupported where this kernel can't tell, NotPermitted without CAP_BPF and CAP_PERFMON.
    """

    def __init__(self, netns_cookie: int) -> None:
        self._cookie = netns_cookie
        self._names = btf.running_kernel().enumerators("skb_drop_reason", "SKB_DROP_REASON_")
        self._attachment = ExitStack()
        self._histogram: mmap.mmap | bytes = bytes(_HISTOGRAM_BYTES)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._histogram = _attach(stack, self._cookie)
            self._attachment = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._attachment.close()
        self._histogram = self._histogram[:]  # a copy; the mapping, and with it the map, is let go of

    def counts(self) -> dict[str, int]:
        """Packets dropped so far, by reason, without those of 0 packets; still readable after exit.

        A subsystem's reasons (mac80211, openvswitch) are counted together, as "subsystem N".
        """
        packets = struct.unpack(f"={_HISTOGRAM_BYTES // 8}Q", self._histogram[:])
        return {_label(bucket, self._names): count for bucket, count in enumerate(packets) if count}


def netns_cookie() -> int:
    """The cookie of the current thread's network namespace: never 0, never used again until reboot.

    Linux kernel commit "net: retrieve netns cookie via getsocketopt" (in v5.14); raises Unsupported before.
    """
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            cookie = probe.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            raise Unsupported("this kernel does not tell a namespace's cookie", "Use Linux 5.14 or later.") from error
        raise KernelError("read the network namespace's cookie", error.errno or 0) from error
    return int(struct.unpack("=Q", cookie)[0])


def _attach(stack: ExitStack, cookie: int) -> mmap.mmap:
    """Count until `stack` is closed; returns the histogram."""
    try:
        histogram = bpf.create_array(_HISTOGRAM_BYTES)
        stack.callback(os.close, histogram)
        memory = bpf.map_array(histogram, _HISTOGRAM_BYTES)
        stack.callback(os.close, _open_tracepoint(histogram, cookie))
    except BpfError as error:
        raise _refusal(error) from error
    except OSError as error:
        raise KernelError("map the histogram of drop reasons", error.errno or 0) from error
    return memory


def _open_tracepoint(histogram: int, cookie: int) -> int:
    """The link's descriptor; without rx_sk where the tracepoint has no such argument."""
    try:
        return _open_with(_program(histogram, cookie, with_socket=True))
    except BpfError as error:
        # A program that reads more arguments than the tracepoint has is refused at the attachment.
        if error.errno != errno.EINVAL:
            raise
    return _open_with(_program(histogram, cookie, with_socket=False))


def _open_with(instructions: bytes) -> int:
    program = bpf.load_program(bpf.RAW_TRACEPOINT, instructions, "perpkt_drops")
    try:
        return bpf.open_raw_tracepoint(program, "kfree_skb")
    finally:
        os.close(program)  # the link holds the program


def _refusal(error: BpfError) -> PerpktError:
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return error  # neither privileges nor the kernel's version would help
    if error.errno in (errno.EPERM, errno.EACCES):
        return NotPermitted(str(error), "Reading drop reasons needs root, or CAP_BPF and CAP_PERFMON.")
    return Unsupported(str(error), _REMEDY)


def _roads(with_socket: bool) -> list[_Road]:
    types = btf.running_kernel()
    cookie = types.member_offset("net", "net_cookie")
    from_device = (types.member_offset("net_device", "nd_net.net"), cookie)
    device = _Road(_SKB_REGISTER, (types.member_offset("sk_buff", "dev"), *from_device))
    route = _Road(
        _SKB_REGISTER,
        (types.member_offset("sk_buff", "_skb_refdst"), types.member_offset("dst_entry", "dev"), *from_device),
    )
    receiver = _Road(_RX_SK_REGISTER, (types.member_offset("sock", "__sk_common.skc_net.net"), cookie))
    return [device, receiver, route] if with_socket else [device, route]


def _program(histogram: int, cookie: int, with_socket: bool) -> bytes:
    items: list[insn.Item] = [
        insn.load(8, _SKB_REGISTER, 1, _SKB),
        insn.load(8, _REASON_REGISTER, 1, _REASON),
        insn.load(8, _RX_SK_REGISTER, 1, _RX_SK) if with_socket else insn.alu("mov", _RX_SK_REGISTER, 0),
        insn.load_immediate(_COOKIE_REGISTER, cookie),
    ]
    for road in _roads(with_socket):
        items += [*_follow(road), insn.jump_reg("jeq", 1, _COOKIE_REGISTER, "count")]
    items += [insn.jump("ja", 0, 0, "end"), insn.Label("count"), *_count(histogram)]
    return insn.assemble([*items, insn.Label("end"), insn.alu("mov", 0, 0), insn.leave()])


def _follow(road: _Road) -> list[insn.Item]:
    """r1 = what stands at the road's end; a failed read gives 0 and the reads after it fail too."""
    items: list[insn.Item] = [insn.alu_reg("mov", 1, road.register)]
    for offset in road.offsets:
        items += [
            insn.alu("and", 1, _NO_REFERENCE),  # a no-op on pointers, which are all even
            insn.alu_reg("mov", 3, 1),
            insn.alu("add", 3, offset),
            insn.alu_reg("mov", 1, 10),
            insn.alu("add", 1, _SCRATCH),
            insn.alu("mov", 2, 8),
            insn.call(insn.PROBE_READ_KERNEL),
            insn.load(8, 1, 10, _SCRATCH),
        ]
    return items


def _count(histogram: int) -> list[insn.Item]:
    """Add 1 to the bucket of the reason; an enum's upper 32 bits in the context are not to be trusted."""
    return [
        insn.alu("lsh", _REASON_REGISTER, 32),
        insn.alu("rsh", _REASON_REGISTER, 32),
        insn.alu_reg("mov", 1, _REASON_REGISTER),
        insn.alu("rsh", 1, _SUBSYSTEM_SHIFT),
        insn.jump("jne", 1, 0, "subsystem"),
        insn.alu_reg("mov", 1, _REASON_REGISTER),
        *_at_most(1, _CORE_BUCKETS - 1, "core"),
        insn.jump("ja", 0, 0, "add"),
        insn.Label("subsystem"),
        *_at_most(1, _SUBSYSTEM_BUCKETS - 1, "subsystems"),
        insn.alu("add", 1, _CORE_BUCKETS),
        insn.Label("add"),
        insn.alu("lsh", 1, 3),
        insn.load_map(insn.MAP_VALUE, 2, histogram),
        insn.alu_reg("add", 2, 1),
        insn.alu("mov", 3, 1),
        insn.atomic_add(2, 0, 3),
    ]


def _at_most(register: int, greatest: int, label: str) -> list[insn.Item]:
    """register = min(register, greatest)."""
    beyond, within = f"{label}_beyond", f"{label}_within"
    return [
        insn.jump("jgt", register, greatest, beyond),
        insn.jump("ja", 0, 0, within),
        insn.Label(beyond),
        insn.alu("mov", register, greatest),
        insn.Label(within),
    ]


def _label(bucket: int, names: dict[int, str]) -> str:
    if bucket == _CORE_BUCKETS - 1:
        return f"reason {bucket} and above"
    if bucket < _CORE_BUCKETS:
        return names.get(bucket, f"reason {bucket}")
    return f"subsystem {bucket - _CORE_BUCKETS}"
