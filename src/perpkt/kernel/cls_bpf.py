"""Attaches a BPF classifier to the clsact ingress hook. tc can take one only from a pinned object or an ELF file."""

from __future__ import annotations

import struct

from perpkt.kernel.netlink import NLM_F_CREATE, NLM_F_EXCL, attribute, request

RTM_NEWTFILTER = 44
_PARENT_CLSACT_INGRESS = 0xFFFFFFF2
_ETH_P_ALL = 3
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TCA_BPF_FD, _TCA_BPF_NAME, _TCA_BPF_FLAGS = 6, 7, 8
_ACT_DIRECT = 1


def attach_ingress(program: int, ifindex: int, name: str) -> None:
    """Add `program` in direct-action mode, preference 1; it goes with the clsact qdisc."""
    info = 1 << 16 | struct.unpack("=H", struct.pack("!H", _ETH_P_ALL))[0]
    message = struct.pack("=BxxxiIII", 0, ifindex, 0, _PARENT_CLSACT_INGRESS, info)
    options = (
        attribute(_TCA_BPF_FD, struct.pack("=I", program))
        + attribute(_TCA_BPF_NAME, name.encode() + b"\0")
        + attribute(_TCA_BPF_FLAGS, struct.pack("=I", _ACT_DIRECT))
    )
    request(
        "attach a BPF classifier",
        RTM_NEWTFILTER,
        message + attribute(_TCA_KIND, b"bpf\0") + attribute(_TCA_OPTIONS, options),
        NLM_F_CREATE | NLM_F_EXCL,
    )
