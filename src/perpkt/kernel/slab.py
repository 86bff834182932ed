"""The state of the kernel's skb cache, drawn anew.

What allocating and freeing an skb costs depends on how the objects of skbuff_head_cache lie in its slabs, and
that is whatever the machine did before: the bare receive path read 204 or 212 ns over the floor for minutes
on end, with every step above it the same. So each round begins by making a state of its own: thousands of
skbs are allocated in random order, half of them freed in another, and half kept, so that all slabs are partly
used, as they are on a machine that has run for a while.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator

_PAIRS, _KEPT, _SKBS = 64, 32, 4096


@contextlib.contextmanager
def fragmented_skbs(generator: random.Random) -> Iterator[None]:
    """For the length of the block, `_KEPT` of `_PAIRS` sockets keep their share of `_SKBS` skbs (about 10 ms)."""
    pairs = [socket.socketpair() for _ in range(_PAIRS)]
    try:
        for sender, _ in pairs:
            sender.setblocking(False)
        for _ in range(_SKBS):
            # one skb each; a full buffer is as good a place in the order as any
            with contextlib.suppress(BlockingIOError):
                generator.choice(pairs)[0].send(b"x")
        generator.shuffle(pairs)
        while len(pairs) > _KEPT:
            _close(pairs.pop())
        yield
    finally:
        for pair in pairs:
            _close(pair)


def _close(pair: tuple[socket.socket, socket.socket]) -> None:
    for end in pair:
        end.close()
