"""A real browser without a screen: Debian's Chromium and its driver; nothing is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

Theme = Literal["light", "dark"]
AXE = Path(__file__).parent / "axe" / "axe.min.js"
PATIENCE_SECONDS = 30


def why_not() -> str | None:
    """The reason why there can be no browser; None where there can."""
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"needs {' and '.join(missing)}: tools/install-test-services installs it on Debian" if missing else None


class Browser:
    """One window of Chromium, as a person uses it: by what can be read on the page."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Until it is so, however often the page draws itself anew meanwhile."""
        try:
            WebDriverWait(self.driver, PATIENCE_SECONDS, poll_frequency=0.05).until(lambda _: self._so(condition))
        except TimeoutException:
            there = self.driver.find_element(By.TAG_NAME, "body").text
            raise AssertionError(f"not so: {what}; {self.path} says:\n{there}\n{self.complaints()}") from None

    def _so(self, condition: Callable[[], object]) -> bool:
        try:
            return bool(condition())
        except WebDriverException:  # it was drawn anew between finding and reading
            return False

    def find(self, css: str, text: str = "") -> WebElement:
        """The first element that is shown and has this text in it; waits for it."""
        found: list[WebElement] = []

        def shown() -> bool:
            elements = self.driver.find_elements(By.CSS_SELECTOR, css)
            found[:] = [one for one in elements if text in one.text and one.is_displayed()]
            return bool(found)

        self.wait(shown, f"{css} with {text!r} is there")
        return found[0]

    def click(self, css: str, text: str = "") -> None:
        def clicked() -> bool:
            elements = self.driver.find_elements(By.CSS_SELECTOR, css)
            next(one for one in elements if text in one.text and one.is_displayed() and one.is_enabled()).click()
            return True

        def tried() -> bool:
            try:
                return clicked()
            except StopIteration:
                return False

        self.wait(tried, f"{css} with {text!r} can be clicked")

    def fill(self, css: str, text: str) -> None:
        element = self.find(css)
        element.clear()
        element.send_keys(text)

    def paste(self, css: str, text: str) -> None:
        """All of it at once, as it is; typing would have the editor's own ideas in it, and take long."""
        self.driver.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}));",
            self.find(css),
            text,
        )

    def see(self, text: str, css: str = "body") -> None:
        """Wait until a text is to be read."""
        self.wait(lambda: text in self.driver.find_element(By.CSS_SELECTOR, css).text, f"{css} says {text!r}")

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.url)

    def log_in(self, token: str) -> None:
        self.open("/login")
        self.fill("#token", token)
        self.click("button[type=submit]", "Log in")
        self.wait(lambda: "/login" not in self.path, "logging in leads away from /login")

    def choose_theme(self, theme: Theme) -> None:
        self.driver.execute_script("localStorage.setItem('jqueuer-theme', arguments[0])", theme)
        self.driver.refresh()
        self.find(f'html[data-theme="{theme}"] main')

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def accessibility_faults(self) -> list[dict[str, Any]]:
        """What axe finds that is serious or critical."""
        self.driver.execute_script(AXE.read_text())
        found: list[dict[str, Any]] = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document).then((result) => done(result.violations.map(({id, impact, help, nodes}) =>"
            "  ({id, impact, help, where: nodes.map((node) => node.html)}))));"
        )
        return [fault for fault in found if fault["impact"] in {"serious", "critical"}]

    def complaints(self) -> list[str]:
        """Errors that the page's scripts made; refusals of the manager are answers, not errors."""
        entries = self.driver.get_log("browser")
        return [
            entry["message"]
            for entry in entries
            if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]
        ]


@contextmanager
def chromium(url: str, profile: Path) -> Iterator[Browser]:
    """A browser that knows nobody yet, for this manager."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_script_timeout(PATIENCE_SECONDS)
        browser = Browser(driver, url)
        browser.size(1280, 900)
        yield browser
    finally:
        driver.quit()
