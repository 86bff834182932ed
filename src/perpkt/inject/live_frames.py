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

from perpkt import teardown
from perpkt.errors import KernelError
from perpkt.kernel import bpf
from perpkt.kernel.command import run
from perpkt.kernel.netns import Netns
from perpkt.wire import programs

WINDOW_PACKETS = 512
MOST_PACKETS = WINDOW_PACKETS * (programs.TIMES - 1)
_VERDICTS = {"pass": bpf.XDP_PASS, "drop": bpf.XDP_DROP}


@dataclass(frozen=True, slots=True)
class Injection:
    """What one call did: frames that the program counted, and each full window's duration."""

    sent: int
    windows_ns: list[int]


class LiveFrames:
    """The injecting program, loaded once and used for every path of a round.

    It is also attached to `holder`, a veth that is down and carries nothing: a program that is
    in the XDP dispatcher already spares each call the two waits for an RCU grace period that
    putting it in and taking it out cost (20 ms and more; bpf_prog_change_xdp). One injector should be
    there at a time: where a program stands in the dispatcher's tree is worth half a nanosecond. `dial`
    is what a dialled program adds.
    """

    def __init__(self, holder: int, dialled: bool = False, steal: int | None = None) -> None:
        self.dial = 0
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            state = bpf.create_array(programs.STATE_BYTES)
            stack.callback(os.close, state)
            self._state = stack.enter_context(bpf.map_array(state, programs.STATE_BYTES))
            code = programs.injector(state, WINDOW_PACKETS, dialled, steal)
            self._program = bpf.load_program(bpf.XDP, code, "perpkt_inject")
            stack.callback(os.close, self._program)
            link = bpf.create_link(self._program, holder, bpf.XDP_ATTACH, bpf.XDP_FLAGS_DRV_MODE)
            stack.callback(os.close, link)
            self._closing = stack.pop_all()

    def close(self) -> None:
        """Detach and unload."""
        self._closing.close()

    def inject(
        self, frames: tuple[bytes, bytes], ifindex: int, packets: int, batch: int, verdict: str
    ) -> Injection | None:
        """Send `packets` frames into `ifindex` of this thread's namespace, the two destinations in turn.

        None if a signal (a stop and its continuing, a debugger that attaches) ended the call early:
        what was sent by then is in the counters, and of another length than planned.
        """
        header = programs.state_header(_VERDICTS[verdict], frames, self.dial)
        self._state[: len(header)] = header
        outcome = bpf.run_live_frames(self._program, frames[0], ifindex, packets, batch)
        return self._read(packets) if outcome.errno == 0 else None

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
    """A namespace with one veth pair, down, that keeps the injecting program in the XDP dispatcher."""

    def __init__(self, label: str) -> None:
        self._netns = Netns(label)
        with contextlib.ExitStack() as stack:
            teardown.push(stack, self._netns.delete)
            self._netns.create()
            with self._netns.entered():
                run(["ip", "link", "add", "h0", "type", "veth", "peer", "name", "h1"])
                self._ifindex = socket.if_nametoindex("h0")
            self._closing = stack.pop_all()

    @contextlib.contextmanager
    def injector(self, dialled: bool = False, steal: int | None = None) -> Iterator[LiveFrames]:
        """A freshly loaded injector: code placement is drawn anew."""
        with self._netns.entered():
            injector = LiveFrames(self._ifindex, dialled, steal)
        try:
            yield injector
        finally:
            injector.close()

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
