"""Messages on AMQP as workers read them: nothing that somebody wrote into one ends its reader.

py-amqp raises from the middle of its stream at properties it cannot read (an unknown type in a table, a date that there
is not, text that is none, tables in tables in tables), and holds whatever large body it is sent. The message is not
acknowledged then and comes again, to this worker or the next.
"""

from __future__ import annotations

from typing import Any, Final

from amqp import basic_message, method_framing, spec

from jqueuer.adapters.job_messages import MAX_BODY_BYTES, UNREADABLE

_Message: Any = basic_message.Message  # the type stubs do not know what it inherits

_METHOD_BYTES: Final = 4
_DELIVERY_BYTES: Final = 9  # its tag, and whether it came before
_OVERSIZED: Final = b" " * (MAX_BODY_BYTES + 1)
_NO_NAMES: Final = b"\0\0"


class Message(_Message):  # type: ignore[misc] # its base is Any
    """A message without what is unreadable, or could not be held, of it: it is refused for what is missing."""

    def __init__(self, *args: Any, frame_method: Any = None, frame_args: Any = None, **properties: Any) -> None:
        if frame_method == spec.Basic.Deliver:
            # Exchange and routing key are the sender's choice; nobody here asks for them.
            end = _METHOD_BYTES + 1 + frame_args[_METHOD_BYTES] + _DELIVERY_BYTES
            frame_args = bytes(frame_args[:end]) + _NO_NAMES
        super().__init__(*args, **properties)
        self.frame_method, self.frame_args = frame_method, frame_args

    def _load_properties(self, class_id: int, buf: Any, offset: int) -> int:
        try:
            end = int(super()._load_properties(class_id, buf, offset))
            # What is compressed kombu would unpack before anybody looks.
            readable = "compression" not in self.properties.get("application_headers", ())
        except Exception:  # whatever a forger thought of
            end, readable = offset, False
        if not readable:
            self.properties: dict[str, Any] = {"content_type": UNREADABLE}
        return end

    def inbound_body(self, buf: Any) -> None:
        """Take in a part of the body, unless it is one of too many."""
        if self.body_size <= MAX_BODY_BYTES:
            super().inbound_body(buf)
            return
        self.body_received += len(buf)
        self.ready = self.body_received >= self.body_size
        self.body = _OVERSIZED


def use() -> None:
    """Make py-amqp read messages so; it has no other door for that."""
    framing: Any = method_framing
    framing.Message = Message
