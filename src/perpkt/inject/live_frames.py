"""Live frames: one system call puts hundreds of thousands of frames into netif_receive_skb_list.

The injecting program takes the time itself every WINDOW_PACKETS frames, so the call's own
set-up and the Python around it are outside every window.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from perpkt.errors import KernelError, MeasurementError
from perpkt.kernel import bpf
from perpkt.kernel.command import run
from perpkt.kernel.netns import Netns
from perpkt.wire import programs

WINDOW_PACKETS = 512
MOST_PACKETS = WINDOW_PACKETS * (programs.TIMES - 1)
_VERDICTS = {"pass": bpf.XDP_PASS, "drop": bpf.XDP_DROP}
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Injection:
    """What one call did: frames that the program counted, and each full window's duration."""

    sent: int
    windows_ns: list[int]


class LiveFrames:
    """The injecting program, loaded once and used for every path of a round.

    It is also attached to `holder`, a veth that is down and carries nothing: a program that is
    in the XDP dispatcher already spares each call the two waits for an RCU grace period that
    putting it in and taking it out cost (20 ms and more; bpf_prog_change_xdp).
    """

    def __init__(self, holder: int, dial: int = 0, steal: int | None = None) -> None:
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            state = bpf.create_array(programs.STATE_BYTES)
            stack.callback(os.close, state)
            self._state = stack.enter_context(bpf.map_array(state, programs.STATE_BYTES))
            code = programs.injector(state, WINDOW_PACKETS, dial, steal)
            self._program = bpf.load_program(bpf.XDP, code, "perpkt_inject")
            stack.callback(os.close, self._program)
            link = bpf.create_link(self._program, holder, bpf.XDP_ATTACH, bpf.XDP_FLAGS_DRV_MODE)
            stack.callback(os.close, link)
            self._closing = stack.pop_all()

    def close(self) -> None:
        """Detach and unload."""
        self._closing.close()

    def inject(self, frames: tuple[bytes, bytes], ifindex: int, packets: int, batch: int, verdict: str) -> Injection:
        """Send `packets` frames into `ifindex` of this thread's namespace, the two destinations in turn.

        A call that a signal ended early is made again: it would be of another length than planned.
        """
        for _ in range(_ATTEMPTS):
            header = programs.state_header(_VERDICTS[verdict], frames)
            self._state[: len(header)] = header
            outcome = bpf.run_live_frames(self._program, frames[0], ifindex, packets, batch)
            if outcome.errno == 0:
                return self._read(packets)
        raise MeasurementError(
            "each call of live frames was ended early by a signal: stop what sends them, or try again"
        )

    def try_out(self, frame_bytes: int = 60) -> None:
        """Drop two frames on the loopback device of this thread's namespace: KernelError if that can't be done."""
        frame = bytes(frame_bytes)
        self.inject((frame, frame), socket.if_nametoindex("lo"), 2, 1, "drop")

    def _read(self, packets: int) -> Injection:
        sent = struct.unpack_from("<Q", self._state, programs.SENT_OFFSET)[0]
        stamps = 1 + (packets - 1) // WINDOW_PACKETS
        times = struct.unpack_from(f"<{stamps}Q", self._state, programs.TIMES_OFFSET)
        return Injection(sent, [after - before for before, after in itertools.pairwise(times)])


class Holder:
    """A namespace with veth pairs, down, that keep injecting programs in the XDP dispatcher."""

    def __init__(self, label: str) -> None:
        self._netns = Netns(label)
        self._free: list[int] = []
        with contextlib.ExitStack() as stack:
            stack.callback(self._netns.delete)
            self._netns.create()
            self._closing = stack.pop_all()

    @contextlib.contextmanager
    def injector(self, dial: int = 0, steal: int | None = None) -> Iterator[LiveFrames]:
        """A freshly loaded injector: code placement is drawn anew. Several may be there at once."""
        with self._netns.entered():
            ifindex = self._take()
            injector = LiveFrames(ifindex, dial, steal)
        try:
            yield injector
        finally:
            injector.close()
            self._free.append(ifindex)

    def _take(self) -> int:
        """A device without a program: it can hold one only."""
        if not self._free:
            names = [f"h{len(socket.if_nameindex())}{end}" for end in "ab"]
            run(["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]])
            self._free = [socket.if_nametoindex(name) for name in names]
        return self._free.pop()

    def largest_frame_bytes(self, smallest: int, largest: int) -> int:
        """The largest frame that the kernel takes as a live frame, between the two; asked by bisection."""
        with self.injector() as injector, self._netns.entered():
            while smallest < largest:
                middle = (smallest + largest + 1) // 2
                try:
                    injector.try_out(middle)
                    smallest = middle
                except KernelError:
                    largest = middle - 1
        return smallest

    def close(self) -> None:
        """Delete the namespace."""
        self._closing.close()
