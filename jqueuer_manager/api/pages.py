"""The web page: files of the package, as they are; what they show they ask of the API like everybody else."""

from __future__ import annotations

import hashlib
import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Final

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from jqueuer_manager.api.access import open_to_all

NAME: Final = "pages"
"""The blueprint; it is no part of the API's document."""
FOLDER: Final = Path(__file__).parent.parent / "web"

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""What is served; nothing else in the folder is."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_VERSION: Final = re.compile(r"[-@.]\d+\.\d+")
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
_NOTHING: Final = "there is no such page"


def blueprint(folder: Path = FOLDER) -> Blueprint:
    """The routes over the files of this folder; open to all, since one logs in on them."""
    routes = Blueprint(NAME, __name__)

    @routes.get("/")
    @routes.get("/login")
    @routes.get("/submit")
    @routes.get("/tokens")
    @routes.get("/experiments/<experiment_id>")
    @routes.get("/experiments/<experiment_id>/jobs/<job_id>")
    @open_to_all
    def index(**_: str) -> Response:
        return _file(folder, "index.html")

    @routes.get("/static/<path:name>")
    @open_to_all
    def static(name: str) -> Response:
        return _file(folder, name)

    return routes


def _file(folder: Path, name: str) -> Response:
    path = folder / name
    kind = _TYPES.get(path.suffix)
    if kind is None or not _is_below(folder, name):
        raise NotFound(_NOTHING)
    try:
        state = path.stat()
    except OSError:  # it is not there, or no file can have this name
        raise NotFound(_NOTHING) from None
    if not stat.S_ISREG(state.st_mode):
        raise NotFound(_NOTHING)
    response = Response(_content(path, state.st_mtime_ns, state.st_size), content_type=kind)
    response.set_etag(_checksum(path, state.st_mtime_ns, state.st_size))
    response.headers["Cache-Control"] = _FOR_EVER if _never_changes(name) else _ASK_AGAIN
    response.headers["Content-Security-Policy"] = _POLICY
    response.make_conditional(request)
    return response


def _is_below(folder: Path, name: str) -> bool:
    """Whether the name leads into the folder and nowhere else, links included."""
    parts = name.split("/")
    plain = all(part and not part.startswith(".") and "\\" not in part and "\0" not in part for part in parts)
    return plain and (folder / name).resolve().is_relative_to(folder.resolve())


def _never_changes(name: str) -> bool:
    """Whether another version of a vendored file would have another name."""
    return name.startswith("vendor/") and _VERSION.search(name) is not None


@lru_cache(maxsize=128)
def _content(path: Path, changed_ns: int, size_bytes: int) -> bytes:
    """The file as it was when it had changed last; packages are unpacked with made-up times, so those are no ETag."""
    return path.read_bytes()


@lru_cache(maxsize=128)
def _checksum(path: Path, changed_ns: int, size_bytes: int) -> str:
    return hashlib.sha256(_content(path, changed_ns, size_bytes)).hexdigest()[:32]
