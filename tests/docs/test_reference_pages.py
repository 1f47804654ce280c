"""The reference pages are those that ``make reference`` would write now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from jqueuer.descriptor import json_schema
from tools.reference import operations
from tools.reference.make import DOCS, pages

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_reference_page_is_up_to_date(path: Path) -> None:
    assert path.read_text() == PAGES[path], "`make reference` writes it anew"


def test_every_operation_is_in_the_reference_with_its_role() -> None:
    text = next(text for path, text in PAGES.items() if path.name == "api-reference.md")
    for path, item in operations.document()["paths"].items():
        for method in item:
            section = text.partition(f"\n### {method.upper()} {path}\n")[2].partition("\n### ")[0]
            assert re.search(r"\*Role: (viewer|submitter|admin|agents|none)\.\*", section), f"{method} {path}"
            assert re.search(r"(?m)^Answers: `2\d\d`", section), f"{method} {path}"


def test_every_key_is_in_the_reference() -> None:
    text = next(text for path, text in PAGES.items() if path.name == "description-reference.md")
    schema = json_schema()
    for part in [schema, *schema["$defs"].values()]:
        for form in part.get("anyOf", [part]):
            for key in form.get("properties", ()):
                assert f"\n| `{key}` | " in text, key


def test_kinds_and_limits_are_said_in_the_words_of_descriptions() -> None:
    text = next(text for path, text in PAGES.items() if path.name == "description-reference.md")
    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| (.*?) \| (?:[^|\\]|\\\|)*\|$", text.partition("## Containers")[0]))
    assert rows["deadline"].startswith("duration or moment | – | 0s … 366d |")
    assert rows["estimate"].startswith("duration | `5m` | above 0s, at most 366d |")
    assert rows["priority"].startswith("whole number | `0` | -1,000 … 1,000 |")
    assert rows["policy"].startswith("[Policy](#policy) | – |")


def test_the_quick_start_shows_the_experiment_that_it_runs() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", (DOCS / "quick-start.md").read_text(), re.DOTALL)
    run = (DOCS.parent / "experiments" / "hello.yaml").read_text()
    assert [yaml.safe_load(block) for block in shown] == [yaml.safe_load(run)]
