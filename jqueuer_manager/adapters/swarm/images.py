"""Which images experiments may run; pure.

References and patterns are both read as Docker reads references, so that no spelling gets around a pattern: ``busybox``
is ``docker.io/library/busybox``, wherever a pattern begins with a ``*`` or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

_HUB: Final = "docker.io"
_OFFICIAL: Final = "library"
_LATEST: Final = "latest"
_ANY: Final = "*"
_ID: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")
"""What Docker takes for an image of the node, whatever it is called, and not for a name."""


def image_allowed(image: str, patterns: Sequence[str]) -> bool:
    """Whether one of the shell patterns (``*``, ``?``, ``[…]``) matches the image.

    A pattern without a tag stands for every tag, one with a tag for that tag alone. Of a reference with a digest the
    tag means nothing, to Docker and so here; only patterns without a tag, or with that digest, match it. An image's id
    says nothing about where it is from, so only ``*`` matches it.
    """
    if _ID.fullmatch(image):
        return _ANY in patterns
    name, tag, digest = _parts(image)
    pinned = f"{name}@{digest}" if digest else f"{name}:{tag or _LATEST}"
    for pattern in patterns:
        sought, sought_tag, sought_digest = _parts(pattern)
        whole = f"{sought}@{sought_digest}" if sought_digest else f"{sought}:{sought_tag}"
        if fnmatchcase(pinned, whole) if sought_digest or sought_tag else fnmatchcase(name, sought):
            return True
    return False


def _parts(reference: str) -> tuple[str, str, str]:
    """(full name, tag, digest) of a reference, or of a pattern of references."""
    rest, _, digest = reference.partition("@")
    directory, slash, last = rest.rpartition("/")
    last, _, tag = last.partition(":")
    return _full(f"{directory}{slash}{last}"), tag, digest


def _full(name: str) -> str:
    """The name with its registry; what begins with a wildcard stands for any beginning."""
    first, slash, rest = name.partition("/")
    if first.startswith("*"):
        return name
    if slash and (first == "localhost" or any(sign in first for sign in ".:") or first != first.lower()):
        registry, path = first.lower(), rest
    else:
        registry, path = _HUB, name
    registry = _HUB if registry == f"index.{_HUB}" else registry
    return f"{registry}/{path}" if registry != _HUB or "/" in path else f"{_HUB}/{_OFFICIAL}/{path}"
