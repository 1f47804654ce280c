"""Every command of the documentation does what it is there for: pages are typed as a reader would, in their order."""

from __future__ import annotations

import subprocess
from collections import Counter

import pytest

from tests.docs import machine
from tests.docs.commands import commands_of, words_of
from tests.docs.elsewhere import ELSEWHERE, Elsewhere
from tests.docs.pages import ROOT, Surrounding, pages, scripts_of
from tests.docs.running import pages_in, run, scripts_in
from tests.embedded.test_demo import DEMO
from tests.lab import available

ALL_PAGES = pages()


@pytest.mark.parametrize("page", ALL_PAGES)
def test_every_block_can_be_understood(page: str) -> None:
    """It has a language, its comment is a known one, and bash can read the commands of a script."""
    for script in scripts_of(page):
        assert list(commands_of(script))


@pytest.mark.parametrize("page", pages_in(Surrounding.ONE_MACHINE))
def test_the_commands_of_a_page_work_on_one_machine(page: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    available.require(machine.why_not)
    with machine.one_machine(tmp_path_factory.mktemp("page")) as place:
        run(scripts_in(page, Surrounding.ONE_MACHINE), place)


@pytest.mark.parametrize("entry", ELSEWHERE, ids=lambda entry: entry.command)
def test_what_is_run_elsewhere_is_in_a_page_and_can_be_made(entry: Elsewhere) -> None:
    scripts = [script for page in ALL_PAGES for script in scripts_of(page)]
    typed = {command.words for script in scripts for command in commands_of(script)}
    assert words_of(entry.command) in typed
    assert (ROOT / entry.by).is_file()
    if "make" in words_of(entry.command):
        subprocess.run(["bash", "-c", f"{entry.command} --dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_demo_that_is_run_elsewhere_is_this_one() -> None:
    make = ["make", "--no-print-directory", "demo", "--dry-run"]  # else it says where it is when make runs the tests
    planned = subprocess.run(make, cwd=ROOT, check=True, capture_output=True, text=True)
    assert planned.stdout.splitlines()[-1] == f".venv/bin/jqueuer run {DEMO.relative_to(ROOT)}"


def test_nothing_is_listed_twice() -> None:
    listed = Counter(words_of(entry.command) for entry in ELSEWHERE)
    assert [words for words, times in listed.items() if times > 1] == []
