"""Responses from models and from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final

from flask import Response
from pydantic import BaseModel

CHUNK_BYTES: Final = 64 * 1024


def answer(model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A model as JSON."""
    response = Response(model.model_dump_json(), status, content_type="application/json")
    response.headers.update(headers or {})
    return response


def in_chunks(file: BinaryIO) -> Iterator[bytes]:
    """A file's content, never more than a chunk of it in memory; closes the file."""
    with file:
        while data := file.read(CHUNK_BYTES):
            yield data
