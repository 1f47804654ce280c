"""A network line that can be cut."""

from __future__ import annotations

import contextlib
import socket
import threading


class Line:
    """Leads to a port of this machine; once it was cut, what was connected never hears of each other again."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._whole = True
        self._cuts = 0
        self._sockets: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing passes, and nobody is told."""
        self._whole = False
        self._cuts += 1

    def mend(self) -> None:
        """New connections pass; old ones are lost."""
        self._whole = True

    def close(self) -> None:
        """End it with all it carries."""
        for one in (self._door, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                self._sockets.append(near)
                if not self._whole:
                    continue  # it stays unanswered
                far = socket.create_connection(("127.0.0.1", self._target_port))
                self._sockets.append(far)
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other, self._cuts), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, cuts: int) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                if self._cuts != cuts:
                    return
                other.sendall(data)
            if self._cuts == cuts:
                other.shutdown(socket.SHUT_WR)
