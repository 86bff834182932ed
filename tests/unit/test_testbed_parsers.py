"""testbed: what iptables and tc print is read right. The texts are iptables 1.8.9's and iproute2 6.1's own."""

from __future__ import annotations

import pytest

from perpkt.testbed import parse_iptables, parse_qdisc, parse_u32

HEADING = "    pkts      bytes target     prot opt in     out     source               destination         \n"
INPUT = (
    "Chain INPUT (policy ACCEPT 2468 packets, 106124 bytes)\n"
    + HEADING
    + "    1234    35786            0    --  *      *       0.0.0.0/0            0.0.0.0/0            ctstate NEW\n"
)
EMPTY = "Chain FORWARD (policy DROP 0 packets, 0 bytes)\n" + HEADING
OWN = (
    "Chain unused (0 references)\n"
    + HEADING
    + "       0        0            0    --  *      *       0.0.0.0/0            0.0.0.0/0            ctstate NEW\n"
)
QDISC = (
    "qdisc {kind} ffff: parent ffff:fff1 ---------------- \n"
    " Sent {bytes} bytes {packets} pkt (dropped 5, overlimits 0 requeues 0) \n"
    " backlog 0b 0p requeues 0\n"
)
# With CONFIG_CLS_U32_PERF (f_u32.c prints "rule hit" and each key's "success"), and without it.
U32 = (
    "filter protocol ip pref 1 u32 chain 0 \n"
    "filter protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1 \n"
    "filter protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:1 not_in_hw{first}\n"
    "  match 00000000/00000000 at 0{key}\n"
    "filter protocol ip pref 1 u32 chain 0 fh 800::801 order 2049 key ht 800 bkt 0 *flowid 1:1 not_in_hw{second}\n"
    "  match 00000009/0000ffff at 20{key}\n"
)


@pytest.mark.parametrize(
    ("text", "kind", "packets"),
    [
        (INPUT, "policy", 2468),
        (INPUT, "rule", 1234),
        (EMPTY, "policy", 0),
        (EMPTY, "rule", 0),
        (OWN, "policy", 0),
        (OWN, "rule", 0),
    ],
)
def test_iptables(text: str, kind: str, packets: int) -> None:
    """A chain's policy and its first rule are told apart; what a chain does not have has counted nothing."""
    assert parse_iptables(text, kind) == packets


@pytest.mark.parametrize("kind", ["ingress", "clsact"])
@pytest.mark.parametrize("packets", [0, 1, 12_345_678])
def test_qdisc(kind: str, packets: int) -> None:
    """Packets are read, not bytes and not drops."""
    assert parse_qdisc(QDISC.format(kind=kind, bytes=76, packets=packets)) == packets


def test_no_qdisc() -> None:
    """A device without the qdisc has counted nothing."""
    assert parse_qdisc("") == 0


def test_u32() -> None:
    """The matches of all filters are summed: what was looked at and did not match is not counted."""
    key = " (success 3000 ) "
    text = U32.format(first=" (rule hit 4096 success 3000)", second=" (rule hit 1096 success 96)", key=key)
    assert parse_u32(text) == 3096


def test_u32_that_has_not_matched() -> None:
    """No match is 0, and not the same as no counter."""
    unmatched = " (rule hit 10 success 0)"
    assert parse_u32(U32.format(first=unmatched, second=unmatched, key="")) == 0


@pytest.mark.parametrize("text", [U32.format(first=" ", second=" ", key=""), ""], ids=["filters", "none"])
def test_u32_without_counters(text: str) -> None:
    """A kernel without CONFIG_CLS_U32_PERF keeps no count: there is none to give."""
    assert parse_u32(text) is None
