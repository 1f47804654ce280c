"""The documentation as a site: it builds strictly, and works where nothing else can be reached."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.site import ROOT, build

LOADING = {"src", "srcset", "poster", "data", "action", "style"}
"""Attributes that make a browser fetch something, on whatever element they are; ``href`` does on some."""


class Fetched(HTMLParser):
    """What a browser fetches by itself when it opens a page; links to follow are none of that."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.urls += [value for name, value in known.items() if name in LOADING]
        if tag == "link" and known.get("rel") != "canonical":
            self.urls.append(known.get("href", ""))
        if tag in {"use", "image"}:
            self.urls += [known.get("href", ""), known.get("xlink:href", "")]


def foreign(text: str) -> Iterator[str]:
    """Addresses with a host of their own."""
    yield from re.findall(r"(?:^|[\s\"'(,])((?:https?:)?//[a-z0-9.-]+\.[a-z]+[^\s\"')]*)", text)


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        urls = Fetched(page).urls
        assert any(url.endswith(".css") for url in urls)
        assert not [found for url in urls for found in foreign(url)], page.name
    for sheet in site.rglob("*.css"):
        fetched = re.findall(r"url\((?!['\"]?data:)([^)]*)\)|@import\s+([^;]*);", sheet.read_text())
        assert not [found for url in fetched for part in url for found in foreign(part)], sheet.name


def test_what_the_theme_would_fetch_later_is_not_used(site: Path) -> None:
    """Its scripts ask a code host about a repository, and a CDN for what draws diagrams, where a page has these."""
    scripts = "".join(script.read_text() for script in (site / "assets" / "javascripts").glob("bundle.*.js"))
    assert set(foreign(scripts)) <= {
        "https://api.github.com/repos/", "https://api.github.com/users/", "https://clipboardjs.com/",
        "https://unpkg.com/mermaid@11/dist/mermaid.min.js", "https://unpkg.com/resize-observer-polyfill",
    }  # fmt: skip
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert 'class="mermaid"' not in text
        assert 'data-md-component="source"' not in text


def test_the_search_finds_words_of_every_page(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f'"{page.stem}.html' in index or page.stem == "index", page.name


def test_it_is_light_and_dark(site: Path) -> None:
    schemes = set(re.findall(r'data-md-color-scheme="(\w+)"', (site / "index.html").read_text()))
    assert schemes == {"default", "slate"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[away](nowhere.md)", "nowhere.md"),
        ("[away](swarm.md#nowhere)", "nowhere"),
        ("![away](screenshots/nowhere.png)", "nowhere.png"),
    ],
)
def test_a_broken_link_breaks_the_build(tmp_path: Path, text: str, complaint: str) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    assert build(tmp_path, tmp_path / "site").returncode == 0
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write(f"\n{text}\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert complaint in done.stderr
