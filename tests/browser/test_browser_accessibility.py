"""Everybody can use the page: axe finds nothing serious, in both themes; it fits a phone; the keyboard is enough."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import Browser, Theme
from tests.browser.descriptions import MIXED
from tests.embedded.running import System

PHONE_PIXELS = 320


@pytest.fixture(scope="module")
def ended(system: System) -> str:
    """An experiment with failed jobs that has ended."""
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    system.api.make_token("alice.of.the.epidemic.group", "submitter", note="for the workflow engine of the group")
    return experiment_id


def pages(experiment_id: str) -> dict[str, str]:
    """Each page, and where on it stands what shows that it is complete."""
    return {
        "/": "table.experiments a",
        f"/experiments/{experiment_id}": "#jobs tbody tr",
        f"/experiments/{experiment_id}/jobs/small-7": ".log",
        "/submit": "#description",
        "/tokens": "table.tokens tbody tr",
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_on_any_page(browser: Browser, ended: str, theme: Theme) -> None:
    browser.open("/")
    browser.choose_theme(theme)
    for path, sign in pages(ended).items():
        browser.open(path)
        browser.find(sign)
        assert browser.accessibility_faults() == [], path


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_at_the_door_nor_in_a_dialog(
    stranger: Browser, system: System, theme: Theme
) -> None:
    stranger.open("/login")
    stranger.choose_theme(theme)
    stranger.find("#token")
    assert stranger.accessibility_faults() == []

    experiment_id = system.submit("name: to be changed\ndeadline: 1h\njobs: [{command: [sleep, '600']}]")
    stranger.log_in(system.embedded.token)
    stranger.open(f"/experiments/{experiment_id}")
    stranger.click('[aria-label="Commands"] button', "Change deadline")
    stranger.find("dialog input")
    assert stranger.accessibility_faults() == []
    system.api.cancel(experiment_id)


def test_every_page_fits_a_phone(browser: Browser, ended: str) -> None:
    browser.size(PHONE_PIXELS, 740)
    for path, sign in pages(ended).items():
        browser.open(path)
        browser.find(sign)
        wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= PHONE_PIXELS, path


def test_the_keyboard_is_enough_to_open_an_experiment(browser: Browser, ended: str) -> None:
    browser.open("/")
    browser.find("table.experiments a")
    body = browser.driver.find_element("css selector", "body")
    body.send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "To the content"
    for _ in range(30):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        if "/experiments/" in (browser.driver.switch_to.active_element.get_attribute("href") or ""):
            break
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)

    browser.see("Is it going to make it?")
