"""How pages are read: what is a script, what is its surrounding, and what cannot be meant."""

from __future__ import annotations

import pytest

from tests.docs.commands import Command, commands_of
from tests.docs.pages import Block, PageError, Surrounding, read

PAGE = """\
# A page

```yaml
name: shown
```

```sh
# first of all
ID=$(submit file)     # a comment

for one in 1 2; do
  echo "$one"
done
cat <<EOF | tee \\
  file
text
EOF
```

1. In a list:

   <!-- runs: swarm-up -->
   ```sh
   docker ps
   ```

<!-- runs: one-machine, kept -->
```sh
serve
```
"""


def scripts(text: str) -> list[Block]:
    return list(read("page.md", text))


def commands(text: str) -> list[Command]:
    return list(commands_of(Block("page.md", 10, text)))


def test_scripts_are_the_blocks_of_sh_with_their_lines_and_surroundings() -> None:
    first, *others = scripts(PAGE)
    assert (first.line, first.surrounding, first.kept) == (8, Surrounding.ONE_MACHINE, False)
    assert others == [
        Block("page.md", 24, "docker ps\n", Surrounding.SWARM_UP),
        Block("page.md", 29, "serve\n", Surrounding.ONE_MACHINE, kept=True),
    ]


def test_a_script_is_taken_apart_into_what_a_shell_runs_as_a_whole() -> None:
    found = list(commands_of(scripts(PAGE)[0]))
    assert [(command.line, command.text.splitlines()[0]) for command in found] == [
        (9, "ID=$(submit file)     # a comment"),
        (11, "for one in 1 2; do"),
        (14, "cat <<EOF | tee \\"),
    ]
    assert [len(command.text.splitlines()) for command in found] == [1, 3, 4]


def test_comments_and_blanks_are_not_part_of_a_commands_words() -> None:
    (command,) = commands("make   demo    # a sweep\n")
    assert (command.where, command.words) == ("page.md:10", ("make", "demo"))


def test_a_longer_fence_may_hold_a_shorter_one() -> None:
    assert scripts("````text\n```sh\nls\n```\n````\n") == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```\nls\n```\n", "page.md:1: this block names no language"),
        ("\n```bash\nls\n```\n", "page.md:2: a block of `bash` is not run"),
        ("```console\n$ ls\n```\n", "page.md:1: a block of `console` is not run"),
        ("```sh\n# nothing\n\n```\n", "page.md:1: this block of `sh` has no command"),
        ("```sh\nls\n", "page.md:1: this block has no end"),
        ("<!-- runs: moon -->\n```sh\nls\n```\n", "page.md:1: expected one of .*`<!-- runs: swarm -->`.*got `.*moon"),
        ("<!-- run: swarm -->\n```sh\nls\n```\n", "page.md:1: expected one of"),
        ("<!-- runs: swarm, kept -->\n```sh\nls\n```\n", "page.md:1: expected one of"),
        ("<!-- runs: swarm --> \n\n```sh\nls\n```\n", "page.md:1: `runs:` stands right before a block of `sh`"),
        ("<!-- runs: swarm -->\n```yaml\na: 1\n```\n", "page.md:1: `runs:` stands right before a block of `sh`"),
        ("<!-- runs: swarm -->", "page.md:1: `runs:` stands right before a block of `sh`"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(PageError, match=fault):
        scripts(text)


@pytest.mark.parametrize(
    "text", ["echo 'begun\n", "if true; then\n  ls\n", "cat <<EOF\ntext\n", "ls |\n", "ls \\\n", "ls )\n"]
)
def test_what_bash_cannot_read_is_told_with_its_line(text: str) -> None:
    with pytest.raises(PageError, match=r"page\.md:11: bash does not understand this"):
        commands("true\n" + text)
