"""What is said to the shells in containers; pure."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MARK: Final = "JQUEUER_RUNNER"
"""The environment variable that every process of a job carries: by it what escaped otherwise is found and ended."""

FUNCTIONS: Final = "".join(
    line for line in Path(__file__).with_name("runner.sh").read_text().splitlines(keepends=True) if line[0] != "#"
)

_OF_SHELLS: Final = re.compile(
    r"jq_.*|BASH.*|COMP_.*|EPOCH.*|_|UID|EUID|PPID|GROUPS|DIRSTACK|FUNCNAME|LINENO|OPT[A-Z]+|S?RANDOM|SECONDS|SHELLOPTS"
)
"""Variables with a meaning to some shell, which may refuse or change a value: those are set by ``env``."""


_PROCESS: Final = re.compile(r"(?<!\S)/proc/[0-9]+(?!\S)")


def quoted(word: str) -> bytes:
    """The word as it stands in a script."""
    return b"'" + os.fsencode(word).replace(b"'", b"'\\''") + b"'"


def prelude(*, own: bool, nonces: tuple[str, str]) -> bytes:
    """What a runner is told first: its functions, and to end what an earlier agent's jobs left behind.

    ``own``: nothing runs in the container but what we brought. Traps are not inherited by commands; the runner's own
    words, such as that a command was killed, go nowhere.
    """
    start = f"""
exec 3>&2 2>/dev/null
trap : HUP INT QUIT USR1 USR2 ALRM TERM
jq_setsid=$(command -v setsid) jq_env=$(command -v env) jq_own=0 jq_b=
echo $$
jq_kill $$
:
{_end(nonces)}jq_own={int(own)}
"""
    return (FUNCTIONS + start).encode()


def command(
    argv: Sequence[str], *, environment: dict[str, str], working_directory: str | None, nonces: tuple[str, str]
) -> bytes:
    """A job's command, and then the report on it."""
    nonce = nonces[0].encode()
    lines = [b"("]
    if working_directory is not None:
        lines.append(b"jq_cd %b %b" % (nonce, quoted(working_directory)))
    by_env = []
    for name, value in environment.items():
        if _OF_SHELLS.fullmatch(name):
            by_env.append(quoted(f"{name}={value}"))
        else:
            lines.append(b"export %b=%b" % (name.encode(), quoted(value)))
    words = [*([b'"$jq_env"', *by_env] if by_env else []), *(quoted(word) for word in argv)]
    lines.append(b"jq_go %b %b" % (nonce, b" ".join(words)))
    lines.append(b") </dev/null 2>&3 3>&-")
    lines.append(_end(nonces).encode())
    return b"\n".join(lines)


def internal(text: bytes, nonces: tuple[str, str]) -> bytes:
    """Something of our own, in the runner itself; what it writes comes on standard output."""
    return b"{ %b\n} </dev/null 2>&1\n%b" % (text, _end(nonces).encode())


def script(text: bytes) -> str:
    """The same as a script of its own; the last line it writes is its status."""
    return f"{FUNCTIONS}\n{{ {os.fsdecode(text)}\n}} </dev/null 2>&1\njq_s=$?\necho\necho $jq_s\n"


def round_of(signal: str, *, runner_pid: int | None, baseline: str, own: bool) -> str:
    """A script of its own that signals what is left of a job once, or with KILL until little can be left.

    It writes how many processes were left and how many were ever killed for lack of memory. A runner that was stopped
    together with its job goes on. The baseline comes out of the container, and this may run there as root: nothing of
    it is taken over but numbers of processes.
    """
    baseline = " ".join(_PROCESS.findall(baseline))
    runner = "" if runner_pid is None else str(runner_pid)
    act = f"jq_kill '{runner}'" if signal == "KILL" else f"jq_find '{runner}'; kill -{signal} $jq_t; kill -CONT $jq_t"
    wake = f"kill -CONT {runner}" if runner else ":"
    return (
        f"exec 2>/dev/null\n{FUNCTIONS}\njq_own={int(own and bool(baseline))} jq_b='{baseline}'\n"
        f"{act}\n{wake}\njq_count\nset -- $jq_t\necho $# $jq_m\n"
    )


def _end(nonces: tuple[str, str]) -> str:
    return f"jq_end {nonces[0]} {nonces[1]}\n"
