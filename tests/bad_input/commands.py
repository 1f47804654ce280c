"""Jobs that write what they should not, as streams and as files, and what becomes of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Check = Callable[[bytes], bool]

ESCAPES: Final = b"\x1b[2J\x1b[31mred\x1b]0;owned\x07\x1b[6n\x9b2J\x08\x7f\n"
"""Clears the screen, sets the window's title, asks for an answer on the keyboard."""


@dataclass(frozen=True)
class Case:
    """One job's command, and how it ends."""

    name: str
    command: tuple[str, ...]
    stdout: bytes | Check = b""
    stderr: bytes | Check = b""
    outcome: str = "accomplished"
    reason: str = ""
    """A part of it."""
    truncated: bool = False
    patterns: tuple[str, ...] = ()
    outputs: tuple[tuple[str, bytes | Check], ...] = ()

    def job(self) -> dict[str, Any]:
        """The job as described."""
        patterns = {"outputs": list(self.patterns)} if self.patterns else {}
        return {"id": self.name, "command": list(self.command), **patterns}


def _python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def _shell(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def _writes(name: str, data: bytes) -> Case:
    return Case(name, _python(f"import os; os.write(1, {data!r})"), data)


def _begins_and_ends(begins: bytes, ends: bytes) -> Check:
    def check(kept: bytes) -> bool:
        return kept.startswith(begins) and kept.endswith(ends) and b" bytes left out " in kept and len(kept) < 200_200

    return check


def _no_file(name: str, script: str, pattern: str = "o.txt") -> Case:
    reason = f"no file matched the output {pattern!r}"
    return Case(name, _shell(script), outcome="failed", reason=reason, patterns=(pattern,))


def _no_text(name: str, path: bytes) -> Case:
    program = f"import os; os.close(os.open({path!r}, os.O_CREAT))"
    return Case(name, _python(program), outcome="failed", reason="is not text", patterns=("o*",))


def _kept(name: str, script: str, *outputs: tuple[str, bytes | Check], patterns: tuple[str, ...] = ("o*",)) -> Case:
    return Case(name, _shell(script), patterns=patterns, outputs=outputs)


STREAMS: Final = [
    _writes("every-byte", bytes(range(256)) * 10),
    _writes("nothing", b""),
    _writes("nul-bytes", b"a\0b\0\0"),
    _writes("no-utf-8", b"caf\xe9 \xff\xfe\xc0\xaf \xed\xa0\x80"),
    _writes("utf-16", "caf\xe9".encode("utf-16")),
    _writes("no-last-newline", b"one\ntwo"),
    _writes("newlines-only", b"\n" * 1000),
    _writes("other-line-ends", b"one\r\ntwo\rthree\x0b\x0c\x85\xe2\x80\xa8four"),
    _writes("escape-sequences", ESCAPES),
    _writes("a-page-with-a-script", b"<html><script>alert(document.domain)</script>"),
    _writes("frames-of-the-engine", b"\x01\0\0\0\0\0\0\x05hello\x02\0\0\0\xff\xff\xff\xff"),
    _writes("frames-of-the-runner", b"".join(b"%032x 1 0 0 \n" % number for number in range(100))),
    _writes("what-looks-cut", "begin\n[… 5 bytes left out …]\nend\n".encode()),
    _writes("what-looks-like-our-end", b'{"state": "accomplished"}\nERROR jqueuer died\n'),
    Case("a-byte-at-a-time", _python("import os\nfor n in range(20000): os.write(1, b'x')"), b"x" * 20_000),
    Case(
        "line-of-fifty-megabytes",
        _python("import sys\nfor n in range(50): sys.stdout.write('x' * 1000000)"),
        _begins_and_ends(b"x" * 1000, b"x" * 1000),
        truncated=True,
    ),
    Case(
        "a-million-lines",
        _shell("seq 1000000"),
        _begins_and_ends(b"1\n2\n3\n", b"999999\n1000000\n"),
        truncated=True,
    ),
    Case(
        "endless",
        _shell("while :; do echo again and again; done"),
        _begins_and_ends(b"again and again\n", b""),
        outcome="timed-out",
        reason="timed out after",
        truncated=True,
    ),
    Case(
        "both-streams-at-once",
        _python(
            "import os, threading\n"
            "def fill(fd):\n    for n in range(300): os.write(fd, b'%d' % fd * 65536)\n"
            "one = threading.Thread(target=fill, args=(1,)); one.start(); fill(2); one.join()"
        ),
        _begins_and_ends(b"1111", b"1111"),
        _begins_and_ends(b"2222", b"2222"),
        truncated=True,
    ),
    Case("one-after-the-other", _shell("for n in 1 2 3; do echo o; echo e >&2; done"), b"o\n" * 3, b"e\n" * 3),
    Case("errors-only", _shell("echo wrong >&2"), b"", b"wrong\n"),
    Case("closes-its-output", _shell("echo begin; exec >&- 2>&-; sleep 0.3"), b"begin\n"),
    Case(
        "closes-its-output-and-fails",
        _shell("exec >&- 2>&-; exit 3"),
        outcome="failed",
        reason="task 1 ended with status 3",
    ),
    Case("leaves-a-child-that-writes", _shell("(sleep 1; echo late) & echo main"), b"main\n"),
    Case("leaves-a-child-that-is-hard-to-find", _shell("setsid sh -c 'sleep 60; echo late' & echo main"), b"main\n"),
    Case("gives-its-output-away", _shell("exec 3>&1; sh -c 'echo through >&3'"), b"through\n"),
    Case("reads-what-is-not-there", _shell("cat; echo read"), b"read\n"),
    Case(
        "ends-by-a-signal",
        _shell("echo begin; kill -SEGV $$"),
        b"begin\n",
        outcome="failed",
        reason="task 1 was ended by signal 11",
    ),
    Case("no-such-program", ("no\x1b[2Jprogram",), outcome="failed", reason="command not found: 'no\\x1b[2Jprogram'"),
]

FILES: Final = [
    _no_file("link-out", "ln -s /etc/passwd o.txt"),
    _no_file("link-out-by-steps", "mkdir d; ln -s ../../../../../../../../etc/passwd d/o.txt", "d/o.txt"),
    _no_file("link-of-a-directory-out", "ln -s /etc d", "d/passwd"),
    _no_file("link-to-nothing", "ln -s nothing o.txt"),
    _no_file("link-in-a-circle", "ln -s o.txt p.txt; ln -s p.txt o.txt"),
    _no_file("link-to-a-device", "ln -s /dev/zero o.txt"),
    _no_file("link-to-a-process", "ln -s /proc/self/environ o.txt"),
    _no_file("pipe", "mkfifo o.txt"),
    _no_file("directory", "mkdir o.txt"),
    _no_file("its-directory-removed", 'rm -rf "$PWD"'),
    Case(
        "socket",
        _python("import socket; socket.socket(socket.AF_UNIX).bind('o.txt')"),
        outcome="failed",
        reason="no file matched",
        patterns=("o.txt",),
    ),
    _no_text("name-of-two-lines", b"o\nX-A: b"),
    _no_text("name-with-an-escape", b"o\x1b[2J"),
    _no_text("name-no-utf-8", b"o\xff\xfe"),
    _no_text("name-from-right-to-left", "o\u202etxt".encode()),
    Case(
        "too-many-files",
        _shell("for n in $(seq 30); do : > o$n; done"),
        outcome="failed",
        reason="30 output files are more than the 20 allowed",
        patterns=("o*",),
    ),
    Case(
        "two-gigabytes-of-nothing",
        _shell("truncate -s 2G o.txt"),
        outcome="failed",
        reason="2147483648 bytes of outputs are more than the 5000000 allowed",
        patterns=("o*",),
    ),
    Case(
        "twice-too-large-together",
        _shell("truncate -s 3M o1; truncate -s 3M o2"),
        outcome="failed",
        reason="6291456 bytes of outputs are more than",
        patterns=("o*",),
    ),
    _kept("link-inside", "echo real > real; ln -s real o.txt", ("o.txt", b"real\n")),
    _kept("two-names-of-one-file", "echo one > o1; ln o1 o2", ("o1", b"one\n"), ("o2", b"one\n")),
    _kept("name-with-quotes", 'printf x > "o\'\\";$(id)"; ls > /dev/null', patterns=("o*",)),
    _kept("name-like-an-option", "printf x > ./-rf", ("-rf", b"x"), patterns=("-*",)),
    _kept("name-hidden", "printf x > ..o", ("..o", b"x"), patterns=("*o",)),
    _kept("name-of-255-letters", "printf x > $(printf 'o%.0s' $(seq 255))", ("o" * 255, b"x")),
    _kept("name-beyond-ascii", "printf x > o-größe-数", ("o-größe-数", b"x")),
    _kept("empty-file", ": > o.txt", ("o.txt", b"")),
    _kept("unreadable", "printf x > o.txt; chmod 000 o.txt", ("o.txt", b"x")),
    _kept(
        "still-growing", "(while :; do echo more; done > o.txt) & sleep 0.3", ("o.txt", lambda data: b"more\n" in data)
    ),
    _kept(
        "three-hundred-directories-deep",
        "for n in $(seq 300); do mkdir d; cd d; done; printf x > o",
        ("d/" * 300 + "o", b"x"),
        patterns=("**/o",),
    ),
    Case(
        "two-thousand-directories-deep",
        _python("import os\nfor n in range(2000): os.mkdir('d'); os.chdir('d')\nopen('o', 'w')"),
        outcome="failed",
        reason="the outputs could not be looked for: directories are nested too deep",
        patterns=("**/o",),
    ),
    _kept("what-comes-after-all-of-them", '[ -z "$(ls -A)" ] && printf fine > o', ("o", b"fine")),
]

CASES: Final = [*STREAMS, *FILES]
