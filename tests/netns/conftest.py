"""A namespace with one veth pair in it, made for a test and removed whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perpkt.kernel import bpf, libc
from perpkt.wire import insn
from perpkt.wire.frame import udp_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL, REMOTE = "198.18.0.1", "198.18.0.2"
LOCAL_MAC, PEER_MAC, OTHER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:99"
PORT = 7000


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace in which vtest0 (with the address LOCAL) is connected to vtest1."""

    name: str
    ifindex: int

    def ip(self, *words: str) -> str:
        """Run ip inside."""
        return _ip("-n", self.name, *words)

    def link(self, device: str) -> dict[str, Any]:
        """What `ip -s -s link` says of a device: the witness of its statistics."""
        found: list[dict[str, Any]] = json.loads(self.ip("-j", "-s", "-s", "link", "show", "dev", device))
        return found[0]

    def udp(self) -> dict[str, int]:
        """The Udp line of /proc/net/snmp inside: the witness of UDP drops."""
        text = _ip("netns", "exec", self.name, "cat", "/proc/net/snmp")
        names, values = (line.split()[1:] for line in text.splitlines() if line.startswith("Udp: "))
        return dict(zip(names, map(int, values), strict=True))

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """This thread is inside for the length of the block."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        inside = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            libc.setns(inside)
            yield
        finally:
            libc.setns(own)
            os.close(inside)
            os.close(own)

    def receive(self, packets: int, mac: str = LOCAL_MAC) -> None:
        """Let vtest0 receive UDP frames for LOCAL, PORT as live frames of an XDP program that passes them."""
        program = bpf.load_program(bpf.XDP, insn.assemble([insn.alu("mov", 0, bpf.XDP_PASS), insn.leave()]), "pass")
        frame = udp_frame((mac, PEER_MAC), (LOCAL, REMOTE), (PORT, PORT), 64)
        try:
            with self.entered():
                assert bpf.run_live_frames(program, frame, self.ifindex, packets, 64).errno == 0
        finally:
            os.close(program)


@contextlib.contextmanager
def made(name: str) -> Iterator[Place]:
    """A Place that lives for the length of the block."""
    _ip("netns", "add", name)
    try:
        # A fresh veth sends IPv6 frames of its own, which would be counted too.
        _ip("netns", "exec", name, "sh", "-c", "echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6")
        inside = ("-n", name, "link")
        _ip(*inside, "add", "vtest0", "address", LOCAL_MAC, "type", "veth", "peer", "vtest1", "address", PEER_MAC)
        _ip(*inside, "set", "vtest0", "up")
        _ip(*inside, "set", "vtest1", "up")
        _ip("-n", name, "address", "add", f"{LOCAL}/24", "dev", "vtest0")
        # A known neighbour: replies leave at once, and none waits for ARP and is dropped late.
        _ip("-n", name, "neighbour", "add", REMOTE, "lladdr", PEER_MAC, "dev", "vtest0")
        yield Place(name, json.loads(_ip(*inside[:2], "-j", "link", "show", "dev", "vtest0"))[0]["ifindex"])
    finally:
        _ip("netns", "del", name)


@pytest.fixture
def place(netns: None) -> Iterator[Place]:
    """A namespace of the test's own."""
    with made(f"perpkt-test-{os.getpid()}-a") as place:
        yield place


@pytest.fixture
def elsewhere(netns: None) -> Iterator[Place]:
    """A second namespace, in all like the first."""
    with made(f"perpkt-test-{os.getpid()}-b") as place:
        yield place


@pytest.fixture(autouse=True)
def _same_namespace_after() -> Iterator[None]:
    before = Path("/proc/thread-self/ns/net").readlink()
    yield
    assert Path("/proc/thread-self/ns/net").readlink() == before
