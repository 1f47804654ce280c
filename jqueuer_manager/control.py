"""The control process: ``python -m jqueuer_manager.control``. It drives the controllers and delivers webhooks.

It is started by the process that answers the API (:mod:`jqueuer_manager.control_process`), so that neither waits for
the other's interpreter. Its standard input says what it needs to know: the first byte that it may begin, each later one
that something has changed, its end that it is to stop.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from jqueuer.errors import JQueuerError
from jqueuer.logs import configure_logging
from jqueuer.settings import load_settings
from jqueuer_manager.composition import compose
from jqueuer_manager.delivery import Delivery
from jqueuer_manager.last_words import REFUSED, say
from jqueuer_manager.loop import ControlLoop

_AT_ONCE_BYTES = 4096


def main() -> int:
    """Control until standard input ends."""
    configure_logging()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; who started this process ends it
    try:
        services = compose(load_settings())
    except JQueuerError as error:
        say(error)
        return REFUSED
    loop, delivery = ControlLoop(services), Delivery(services)
    gc.collect()
    gc.freeze()  # what was loaded stays
    if not _told():
        return 0
    loop.start()
    delivery.start()
    while _told():
        services.changed.set()
    delivery.stop()
    loop.stop()
    return 0


def _told() -> bytes:
    """What was said since; waits until there is something. Empty at the end."""
    return os.read(sys.stdin.fileno(), _AT_ONCE_BYTES)


if __name__ == "__main__":
    sys.exit(main())
