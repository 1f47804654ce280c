"""The working directory of a container's jobs."""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from jqueuer.model import IMAGE_OWN
from jqueuer_agent.adapters.docker import tar
from jqueuer_agent.adapters.docker.collect import Collection
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.owner import owner_by_files, owner_by_shell
from jqueuer_agent.adapters.docker.scratch import Scratch
from jqueuer_agent.adapters.docker.shell import quoted

_NAME: Final = "jqueuer"
_TOGETHER_FILES: Final = 200
_TOGETHER_BYTES: Final = 1 << 26
_TEMPORARY: Final = "/tmp"  # noqa: S108 - of a container

Internal = Callable[[bytes], tuple[int, str]]
"""Has a line of shell done in the container: status and what it wrote."""


class DockerWorkspace:
    """The :class:`~jqueuer.ports.Workspace` in a container.

    Without a working directory, or with a relative one, jobs have a directory of their own, emptied before each; an
    absolute one, and the image's own, are the user's: used as they are and never emptied. Where the image has no shell
    (``internal`` is None) nothing in it can be removed, so there each job gets a fresh directory.

    Outputs are copied to ``scratch`` on the agent's side, at most ``limit_bytes`` of them.
    """

    def __init__(
        self,
        engine: Engine,
        internal: Internal | None,
        *,
        user: str,
        working_directory: str | None,
        scratch: Scratch,
        limit_bytes: int,
    ) -> None:
        self._engine = engine
        self._internal = internal
        self._owner = owner_by_shell(internal) if internal else owner_by_files(engine, user)
        self._scratch = scratch
        self._limit_bytes = limit_bytes
        self._relative = ""
        self._base = ""
        """The directory that is ours to empty; none yet, or never any."""
        self._own = False
        if working_directory == IMAGE_OWN:
            self._directory = engine.inspect()["Config"].get("WorkingDir") or "/"
        elif working_directory and posixpath.isabs(working_directory):
            self._directory = working_directory
        else:
            self._own = True
            relative = posixpath.normpath(working_directory or "")
            self._relative = "" if relative == "." else relative
            self._directory = posixpath.join(_TEMPORARY, _NAME, self._relative).rstrip("/")
        self._made: set[str] = set()
        self._staged: dict[str, Path] = {}
        self._staged_bytes = 0

    @property
    def directory(self) -> str:
        """Its path inside the container; may be another after :meth:`clear`."""
        return self._directory

    def clear(self) -> None:
        """Empty it; :class:`OSError` where that cannot be done."""
        self._scratch.clear()
        self._made.clear()
        self._staged, self._staged_bytes = {}, 0
        if not self._own:
            return
        if self._internal is None:
            self._take_fresh()
        elif self._base:
            self._empty(self._internal, self._base)
        else:
            self._choose(self._internal)

    def _choose(self, internal: Internal) -> None:
        reasons = []
        for name in (_NAME, f"{_NAME}-{self._owner[0]}"):  # the first may be another user's, in a container of theirs
            base = posixpath.join(_TEMPORARY, name)
            try:
                self._empty(internal, base)
            except OSError as error:
                reasons.append(str(error))
            else:
                self._base, self._directory = base, posixpath.join(base, self._relative).rstrip("/")
                return
        raise OSError(f"no directory for jobs can be made in the container: {'; '.join(reasons)}")

    def _empty(self, internal: Internal, base: str) -> None:
        """Nothing is started where nothing was left: the shell sees that by itself."""
        steps, above = [], base
        for part in [part for part in self._relative.split("/") if part] + [""]:
            steps.append(b"jq_only %b %b" % (quoted(above), quoted(part)))
            above = posixpath.join(above, part)
        whole = quoted(posixpath.join(base, self._relative))
        renew = b"{ rm -rf -- %b && mkdir -p -- %b && [ -w %b ]; }" % (quoted(base), whole, whole)
        status, words = internal(b" && ".join(steps) + b" || " + renew)
        if status:
            raise OSError(words or f"{base} cannot be written by the user of the container")

    def _take_fresh(self) -> None:
        base = posixpath.join(_TEMPORARY.strip("/"), _NAME, secrets.token_hex(4))
        paths = [posixpath.join(base, above) for above in _ancestors(f"{self._relative}/x")]
        self._engine.put_archive("/", tar.directories([base, *paths], self._owner))
        self._directory = "/" + posixpath.join(base, self._relative).rstrip("/")

    def put(self, path: str, fetch: Callable[[Path], None]) -> None:
        """Fetch a file that is to lie in it; many travel into the container together."""
        source = self._scratch.new()
        try:
            fetch(source)
        except BaseException:
            source.unlink(missing_ok=True)
            raise
        self._staged[posixpath.normpath(path)] = source
        self._staged_bytes += source.stat().st_size
        if len(self._staged) >= _TOGETHER_FILES or self._staged_bytes >= _TOGETHER_BYTES:
            self.placed()

    def placed(self) -> None:
        """All that was put is in the container; :class:`OSError` where it cannot be."""
        staged, self._staged, self._staged_bytes = self._staged, {}, 0
        if not staged:
            return
        parents = sorted({parent for path in staged for parent in _ancestors(path)} - self._made)
        try:
            if parents and self._internal is not None:
                whole = b" ".join(quoted(posixpath.join(self._directory, parent)) for parent in parents)
                status, words = self._internal(b"mkdir -p -- %b" % whole)
                if status:
                    raise OSError(words)
                archive = tar.files(staged, self._owner, [])
            else:
                archive = tar.files(staged, self._owner, parents)
            self._engine.put_archive(self._directory, archive)
            self._made.update(parents)
        finally:
            for source in staged.values():
                source.unlink(missing_ok=True)

    def find(self, patterns: Sequence[str]) -> list[Sequence[tuple[str, Path]]]:
        """For each glob the regular files inside it that match: their paths, and copies that may be moved away."""
        if not patterns:
            return []
        return Collection(self._engine, self._directory, self._scratch.new(), self._limit_bytes).find(patterns)


def _ancestors(path: str) -> list[str]:
    """The directories on the way to a relative path, outermost first."""
    parts = [part for part in path.split("/") if part][:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
