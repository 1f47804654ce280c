"""What somebody who can write to the broker, but has no key, may put into a job queue; each with its answer.

Signatures in here are good ones of the experiment's job ``real`` wherever something else is wrong: who can write can
also read, and use again what was signed.
"""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jqueuer.adapters.job_messages import MAX_BODY_BYTES, TASK_NAME, Refusal
from jqueuer.signing import MessageSigner
from tests.contract.queue_worker import KEY as KEY

EXPERIMENT = "sweep-abc123"
SIGNER = MessageSigner(KEY)
SIGNATURE = SIGNER.sign(EXPERIMENT, "real")
BODY = json.dumps([[EXPERIMENT, "real"], {}, {}]).encode()
HEADERS = {"id": "7c1e", "task": TASK_NAME, "signature": SIGNATURE}
JSON = "application/json"
BOMB = zlib.compress(b" " * 100_000_000)
EVIL = {"task": "celery.backend_cleanup", "args": [], "kwargs": {}, "options": {}, "subtask_type": None}


@dataclass(frozen=True)
class Forged:
    """A message as it can be published on each broker, and the stated answer to it."""

    name: str
    answer: Refusal
    body: bytes = BODY
    headers: dict[str, Any] = field(default_factory=lambda: HEADERS)
    content_type: str | None = JSON
    content_encoding: str | None = "utf-8"


class _Exploit:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def _body(*args: object, kwargs: object = None, embed: object = None) -> bytes:
    return json.dumps([list(args), kwargs or {}, embed or {}]).encode()


def forged_messages(trap: Path) -> Iterator[Forged]:
    """All of them; a pickle that is loaded makes a file at ``trap``."""
    yield from _other_formats(trap)
    yield from _other_signatures()
    yield from _other_bodies()
    yield from _other_headers()


def _other_formats(trap: Path) -> Iterator[Forged]:
    exploit = pickle.dumps(_Exploit(trap))
    plain = [[EXPERIMENT, "real"], {}, {}]
    types = {
        "a pickle": ("application/x-python-serialize", exploit),
        "a pickle by another name": ("application/x-python", exploit),
        "YAML": ("application/x-yaml", yaml.safe_dump(plain).encode()),
        "msgpack": ("application/x-msgpack", b"\x93\x92\xacsweep-abc123\xa4real\x80\x80"),
        "plain text": ("text/plain", BODY),
        "data of no kind": ("application/data", BODY),
        "JSON with a parameter": ("application/json; charset=utf-8", BODY),
        "no content type": (None, BODY),
    }
    for name, (content_type, body) in types.items():
        yield Forged(name, Refusal.NOT_JSON, body, content_type=content_type)
    yield Forged("a pickle that says it is JSON", Refusal.NOT_JSON, exploit)
    for encoding in ("binary", "utf-16", "latin-1", "base64", "punycode", "nonsense", "", None):
        yield Forged(f"JSON in {encoding!r}", Refusal.NOT_JSON, content_encoding=encoding)
    yield Forged("UTF-16 that says it is UTF-8", Refusal.NOT_JSON, BODY.decode().encode("utf-16"))
    yield Forged("a byte order mark", Refusal.NOT_JSON, b"\xef\xbb\xbf" + BODY)
    yield Forged("no UTF-8", Refusal.NOT_JSON, BODY.replace(b"real", b"\xff\xfe"))
    yield Forged("nothing", Refusal.NOT_JSON, b"")
    yield Forged("the half of it", Refusal.NOT_JSON, BODY[:-3])
    yield Forged("more than one", Refusal.NOT_JSON, BODY + BODY)
    yield Forged("as many brackets as there is room for", Refusal.NOT_JSON, b"[" * MAX_BODY_BYTES)
    yield Forged("a number of thousands of digits", Refusal.FORM, b"9" * 4000)
    yield Forged("spaces before it, too many", Refusal.TOO_LARGE, b" " * MAX_BODY_BYTES + BODY)
    yield Forged("20 MB", Refusal.TOO_LARGE, b"[" + b"1," * 10_000_000 + b"1]")
    for name, body in (
        ("zlib", BOMB),
        ("gzip", gzip.compress(BODY)),
        ("application/x-gzip", BOMB),
        ("lzma", BODY),
        ("no such thing", BODY),
    ):
        yield Forged(f"compressed by {name}", Refusal.UNREADABLE, body, {**HEADERS, "compression": name})


def _other_signatures() -> Iterator[Forged]:
    unsigned = {name: value for name, value in HEADERS.items() if name != "signature"}
    former = {**unsigned, "lang": "py", "eta": None, "retries": 0, "timelimit": [None, None], "origin": "gen1@manager"}
    yield Forged("one without a signature", Refusal.UNSIGNED, headers=unsigned)
    yield Forged("one of JQueuer before it signed them", Refusal.UNSIGNED, headers=former)
    yield Forged("an empty signature", Refusal.UNSIGNED, headers={**HEADERS, "signature": ""})
    yield Forged("no headers", Refusal.UNSIGNED, headers={})
    first = json.dumps({"task": TASK_NAME, "id": "7c1e", "args": [EXPERIMENT, "real"], "kwargs": {}}).encode()
    yield Forged("Celery's first protocol", Refusal.UNSIGNED, first, {})
    yield Forged("Celery's first protocol, signed", Refusal.HEADERS, first, {"signature": SIGNATURE})
    other_key = MessageSigner("somebody's guess").sign(EXPERIMENT, "real")
    wrong = {
        "a signature by another key": other_key,
        "a signature of another job": SIGNER.sign(EXPERIMENT, "other"),
        "a signature of another experiment's job": SIGNER.sign("theirs", "real"),
        "the ids changed about": SIGNER.sign("real", EXPERIMENT),
        "a signature in capitals": SIGNATURE.upper(),
        "a part of the signature": SIGNATURE[:-1],
        "the signature and more": SIGNATURE + "0",
        "a signature that is no hexadecimal": "ÿ\x00" * 32,
    }
    for name, signature in wrong.items():
        yield Forged(name, Refusal.SIGNATURE, headers={**HEADERS, "signature": signature})
    theirs = {**HEADERS, "signature": SIGNER.sign("theirs", "real")}
    yield Forged("another experiment's message, well signed", Refusal.EXPERIMENT, _body("theirs", "real"), theirs)


def _other_bodies() -> Iterator[Forged]:
    yield Forged("Celery's first protocol beside headers", Refusal.FORM, json.dumps({**EVIL, "id": "1"}).encode())
    bodies = {
        "null": b"null",
        "a word": b'"real"',
        "a number that there is not": b"NaN",
        "the ids alone": json.dumps([EXPERIMENT, "real"]).encode(),
        "no options": json.dumps([[EXPERIMENT, "real"], {}]).encode(),
        "four parts": json.dumps([[EXPERIMENT, "real"], {}, {}, {}]).encode(),
        "no arguments": _body(),
        "one argument": _body(EXPERIMENT),
        "three arguments": _body(EXPERIMENT, "real", "more"),
        "a number for a job": _body(EXPERIMENT, 1),
        "a list for a job": _body(EXPERIMENT, ["real"]),
        "null for an experiment": _body(None, "real"),
        "an object for the arguments": json.dumps([{"experiment": EXPERIMENT, "job": "real"}, {}, {}]).encode(),
        "keyword arguments": _body(kwargs={"experiment": EXPERIMENT, "job": "real"}),
        "more keyword arguments": _body(EXPERIMENT, "real", kwargs={"handle": "os.system"}),
        "a path for a job": _body(EXPERIMENT, "../../etc/passwd"),
        "a line feed in a job": _body(EXPERIMENT, "real\n"),
        "a NUL in a job": _body(EXPERIMENT, "real\x00"),
        "half a character in a job": b'[["sweep-abc123", "\\ud800"], {}, {}]',
        "the post command's cousin": _body(EXPERIMENT, "@pre"),
        "a job with a name too long": _body(EXPERIMENT, "r" * 129),
        "a type of kombu's": b'[["sweep-abc123", {"__type__": "decimal", "__value__": "real"}], {}, {}]',
    }
    for name, body in bodies.items():
        yield Forged(name, Refusal.FORM, body)
    for name, what in {
        "callbacks": [EVIL],
        "errbacks": [EVIL],
        "chain": [EVIL],
        "chord": EVIL,
        "nothing": None,
    }.items():
        yield Forged(f"an embedded {name}", Refusal.FORM, _body(EXPERIMENT, "real", embed={name: what}))


def _other_headers() -> Iterator[Forged]:
    extra = {
        "eta": "2030-01-01T00:00:00",
        "expires": "1970-01-01T00:00:00",
        "countdown": 10**18,
        "timelimit": [0, 0],
        "retries": -1,
        "shadow": "celery.chord",
        "stamps": {"a": 1},
        "group": "g",
        "root_id": "r",
        "argsrepr": "()",
        "ignore_result": False,
        "many": {f"n{number}": number for number in range(200)},
    }
    for name, value in extra.items():
        yield Forged(f"a header more: {name}", Refusal.HEADERS, headers={**HEADERS, name: value})
    for name in ("eta", "expires"):
        for value in ("never", "9999-99-99", -1, 1e308, [], {"__type__": "datetime", "__value__": "x"}):
            yield Forged(f"{name} {value!r}", Refusal.HEADERS, headers={**HEADERS, name: value})
    for name in ("id", "task", "signature"):
        for value in (None, 1, ["7c1e"], {"a": "b"}, True):
            yield Forged(f"{value!r} for {name}", Refusal.HEADERS, headers={**HEADERS, name: value})
    yield Forged("an empty message id", Refusal.HEADERS, headers={**HEADERS, "id": ""})
    yield Forged("a message id of 3000 letters", Refusal.HEADERS, headers={**HEADERS, "id": "i" * 3000})
    yield Forged("no task", Refusal.HEADERS, headers={"id": "7c1e", "signature": SIGNATURE})
    built_in = ("backend_cleanup", "chord", "chord_unlock", "group", "map", "starmap", "chain", "chunks", "accumulate")
    for task in (*(f"celery.{name}" for name in built_in), "jqueuer.job.", "os.system", "", "jqueuer_agent.main"):
        yield Forged(f"the task {task!r}", Refusal.TASK, headers={**HEADERS, "task": task})


def no_envelopes() -> dict[str, bytes]:
    """Elements of a list on Redis that kombu never put there: none of them can be read."""
    good: dict[str, Any] = {
        "body": "W10=",
        "content-type": JSON,
        "content-encoding": "utf-8",
        "headers": HEADERS,
        "properties": {
            "delivery_tag": "t",
            "body_encoding": "base64",
            "delivery_info": {"exchange": "", "routing_key": "q"},
        },
    }
    properties = good["properties"]
    documents: dict[str, Any] = {
        "null": None,
        "a number": 1,
        "a list": [good],
        "an empty object": {},
        "a decimal that is none": {**good, "body": {"__type__": "decimal", "__value__": "x"}},
        "a type nobody knows": {**good, "body": {"__type__": "os.system", "__value__": "x"}},
        "bytes that are a list": {**good, "body": {"__type__": "bytes", "__value__": []}},
        "a body in no base 64": {**good, "body": "%%%"},
        "a body that is a number": {**good, "body": 1},
        "no body": {name: value for name, value in good.items() if name != "body"},
        "headers that are a list": {**good, "headers": []},
        "no headers": {**good, "headers": None},
        "a content type that is a number": {**good, "content-type": 1},
        "no properties": {**good, "properties": None},
        "no delivery tag": {**good, "properties": {**properties, "delivery_tag": None}},
        "a delivery tag that is a list": {**good, "properties": {**properties, "delivery_tag": ["t"]}},
        "another encoding of the body": {**good, "properties": {**properties, "body_encoding": "rot13"}},
        "no delivery": {**good, "properties": {**properties, "delivery_info": None}},
        "a delivery from nowhere": {**good, "properties": {**properties, "delivery_info": {"routing_key": "q"}}},
        "a delivery to a number": {**good, "properties": {**properties, "delivery_info": {"routing_key": 1}}},
    }
    elements = {name: json.dumps(document).encode() for name, document in documents.items()}
    return elements | {
        "nothing": b"",
        "no UTF-8": b"\xff\xfe\x00",
        "a pickle": pickle.dumps(good),
        "the half of one": json.dumps(good).encode()[:-4],
        "brackets without end": b"[" * 15_000,
    }


def unreadable_properties() -> dict[str, bytes]:
    """AMQP properties as a broker passes them on, and a client stumbles over."""
    deep = b""
    for _ in range(3000):
        deep = b"\x01nF" + struct.pack(">I", len(deep)) + deep
    tables = {
        "a date beyond all calendars": b"\x01nT" + b"\xff" * 8,
        "a date after the year 9999": b"\x01nT" + struct.pack(">Q", 10**12),
        "tables in tables": deep,
        "a decimal of 255 places": b"\x01nD\xff\x7f\xff\xff\xff",
        "a name that is no text": b"\x02\xff\xfeI\x00\x00\x00\x01",
    }
    headers_only = 0x2000
    found = {name: struct.pack(">HI", headers_only, len(table)) + table for name, table in tables.items()}
    found["a content type that is no text"] = struct.pack(">H", 0x8000) + b"\x02\xff\xfe"
    found["a reply address that is no text"] = struct.pack(">H", 0x0200) + b"\x02\xff\xfe"
    return found
