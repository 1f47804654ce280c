"""The bridge process: ``python -m jqueuer.statsd_bridge``. Prints its ports as one JSON line; SIGTERM ends it."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server

from jqueuer.errors import SettingsError
from jqueuer.statsd_bridge.lines import parse
from jqueuer.statsd_bridge.mapping import load
from jqueuer.statsd_bridge.series import SeriesCollector

_DATAGRAM_BYTES: Final = 65_536
_RECEIVE_BUFFER_BYTES: Final = 4_194_304
"""Room for a burst; the kernel may give less."""


def main() -> int:
    """Listen until told to stop."""
    arguments = _parser().parse_args()
    try:
        series = SeriesCollector(load(arguments.mapping))
    except SettingsError as error:
        print(f"statsd bridge: {error}", file=sys.stderr)  # noqa: T201
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    registry = CollectorRegistry()
    registry.register(series)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        receiver.bind(arguments.listen_udp)
        host, port = arguments.listen_http
        server, _ = start_http_server(port, host, registry)
        print(json.dumps({"udp": receiver.getsockname()[1], "http": server.server_port}), flush=True)  # noqa: T201
        while True:
            for sample in parse(receiver.recv(_DATAGRAM_BYTES)):
                series.add(sample)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m jqueuer.statsd_bridge", description="statsd in, Prometheus out")
    parser.add_argument("--mapping", type=Path, required=True, metavar="FILE", help="the statsd exporter's mapping")
    parser.add_argument("--listen-udp", type=_address, default=("0.0.0.0", 9125), metavar="HOST:PORT")  # noqa: S104
    parser.add_argument("--listen-http", type=_address, default=("0.0.0.0", 9102), metavar="HOST:PORT")  # noqa: S104
    return parser


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, got {text!r}")
    return host, int(port)


if __name__ == "__main__":
    sys.exit(main())
