"""The site in a real browser: it fetches nothing from elsewhere, and its search finds what is written."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, chromium, why_not
from tests.lab.available import require


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and keeps no log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def reader(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser in front of the site."""
    require(why_not)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with chromium(f"http://127.0.0.1:{server.server_port}/", tmp_path_factory.mktemp("profile")) as browser:
            yield browser
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_page_fetches_anything_from_elsewhere(reader: Browser, site: Path) -> None:
    for page in sorted(site.glob("*.html")):
        reader.open(page.name)
        fetched = reader.driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
        assert fetched
        assert [url for url in fetched if not url.startswith((reader.url, "data:", "blob:"))] == []
        assert reader.complaints() == []


def test_the_search_leads_to_the_page(reader: Browser) -> None:
    reader.open("index.html")
    reader.click("label.md-search__icon, .md-search__form")
    reader.fill(".md-search__input", "vm_memory_high_watermark")
    reader.find(".md-search-result__link", "RabbitMQ").click()
    reader.see("Tuning RabbitMQ and Redis", "article")


ALL_LOADED = "return [...document.querySelectorAll('article img')].every(one => one.complete && one.naturalWidth > 0)"


@pytest.mark.parametrize("path", ["index.html", "architecture.html"])
def test_pictures_are_there(reader: Browser, path: str) -> None:
    reader.open(path)
    reader.find("article img")
    reader.wait(lambda: reader.driver.execute_script(ALL_LOADED), "all pictures are there")
