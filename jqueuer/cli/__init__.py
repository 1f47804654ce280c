"""The command line: ``jqueuer``."""

from jqueuer.cli.app import app, main

__all__ = ["app", "main"]
