"""A cable that is slow: frames between a node and the switch arrive later than they were sent.

Kernels can do that themselves, where they were built with netem; many are not. So the node's end of the cable is taken
off the switch, and this program carries every frame on after a while. As a program it does only the carrying, in the
switch's namespace: ``python slow_link.py LINK LINK DELAY_SECONDS``, until SIGTERM.
"""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Final

_ALL_PROTOCOLS: Final = 0x0003
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING = 263, 15, 23
_LARGEST_BYTES: Final = 70_000
_BUFFER_BYTES: Final = 8_000_000


@contextlib.contextmanager
def slow(lab: str, number: int, delay_seconds: float) -> Iterator[None]:
    """Frames to and from this node of a laboratory are late by this, each way."""
    namespace, cable, near, far = f"{lab}0", f"v{number}", f"d{number}", f"b{number}"
    _ip(namespace, "link", "add", near, "type", "veth", "peer", "name", far)
    carrier = None
    try:
        _ip(namespace, "link", "set", far, "master", "br0", "up")
        _ip(namespace, "link", "set", near, "up")
        _ip(namespace, "link", "set", cable, "nomaster")
        carrier = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, __file__, cable, near, str(delay_seconds)]
        )
        yield
    finally:
        if carrier is not None:
            carrier.terminate()
            carrier.wait()
        _ip(namespace, "link", "set", cable, "master", "br0")
        _ip(namespace, "link", "del", near)


def _ip(namespace: str, *arguments: str) -> None:
    subprocess.run(["ip", "-n", namespace, *arguments], check=True, capture_output=True)


def _open(link: str) -> socket.socket:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    end.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)  # frames may be without checksum, and larger than the link's
    end.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    end.bind((link, 0))
    end.setblocking(False)
    return end


def carry(one: str, other: str, delay_seconds: float) -> None:
    """Carry frames from each link to the other, in order."""
    first, second = _open(one), _open(other)
    across = {first: second, second: first}
    under_way: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        wait_seconds = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for end in select.select([first, second], [], [], wait_seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                while frame := end.recv(_LARGEST_BYTES):
                    under_way.append((time.monotonic() + delay_seconds, across[end], frame))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, frame = under_way.popleft()
            with contextlib.suppress(OSError):  # a full queue loses frames, as every link does
                end.send(frame)


if __name__ == "__main__":
    carry(sys.argv[1], sys.argv[2], float(sys.argv[3]))
