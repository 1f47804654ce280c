"""The manager's REST API: ``/api/v1``, the 2018 paths, health and metrics."""

from jqueuer_manager.api.app import create_app

__all__ = ["create_app"]
