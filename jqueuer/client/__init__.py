"""A client of the manager's REST API: what the command line, the tests and other programs use."""

from jqueuer.client.client import Client
from jqueuer.client.transport import ClientError

__all__ = ["Client", "ClientError"]
