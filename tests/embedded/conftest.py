"""The fixtures of the tests that run real parts: the API over a real store, and the whole system."""

from tests.embedded.api_manager import manager as manager
from tests.embedded.api_manager import services as services
from tests.embedded.running import own_system as own_system
from tests.embedded.running import system as system
from tests.embedded.terminals import on_terminal as on_terminal
