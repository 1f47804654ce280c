"""An administrator's page of users and tokens: who has one, making one that is shown once, and withdrawing it."""

from __future__ import annotations

import re

import pytest
import requests
from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import Browser, Theme
from tests.embedded.running import System

ADD = "main .title-row button"
HOLD = """
const send = window.fetch;
window.fetch = (address, options) => options?.method === "POST"
  ? new Promise((go) => { window.goOn = go; }).then(() => send(address, options))
  : send(address, options);
"""
"""What the page sends to the manager waits until it is told to go on."""


def role_of(system: System, token: str) -> str | None:
    """What a token opens; None where it opens nothing."""
    url, shown = f"{system.embedded.url}/api/v1/me", {"Authorization": f"Bearer {token}"}
    response = requests.get(url, headers=shown, timeout=10)
    return response.json()["role"] if response.ok else None


def add(browser: Browser, name: str, *, expires: str = "") -> str:
    """Add a submitter's token by the page; the token."""
    browser.click(ADD, "Add a token")
    browser.fill("#token-name", name)
    browser.fill("#token-expires", expires)
    browser.fill("#token-note", "for the night run")
    browser.click("dialog button[type=submit]", "Add")
    return str(browser.find("#new-token").get_attribute("value"))


def begin_to_add(browser: Browser, name: str) -> None:
    """Add a token, and have the manager's answer not come yet."""
    browser.open("/tokens")
    browser.find(ADD)
    browser.driver.execute_script(HOLD)
    browser.click(ADD, "Add a token")
    browser.fill("#token-name", name)
    browser.click("dialog button[type=submit]", "Add")
    browser.wait(lambda: browser.driver.execute_script("return Boolean(window.goOn)"), "it is on its way")


def test_a_token_is_made_shown_once_and_copied(browser: Browser, system: System) -> None:
    browser.open("/")
    browser.click("header a", "Users")
    browser.see("Users and tokens", "h1")

    token = add(browser, "alice", expires="90d")
    assert role_of(system, token) == "submitter"
    browser.click("dialog button", "Copy")
    browser.find("dialog button", "Copied")
    browser.click("dialog button", "Done")

    browser.find("table.tokens tr", "alice")
    row = browser.find("table.tokens tr", "for the night run").text
    assert "submitter" in row
    assert re.search("in (90d|89d 23h)", row)
    assert token not in browser.driver.page_source
    browser.click(ADD, "Add a token")
    browser.fill("#token-note", Keys.CONTROL + "v")
    assert browser.find("#token-note").get_attribute("value") == token


def test_what_is_no_token_is_explained_in_the_dialog(browser: Browser) -> None:
    browser.open("/tokens")
    browser.click(ADD, "Add a token")
    browser.fill("#token-name", "alice & bob")
    browser.fill("#token-expires", "next year")
    browser.click("dialog button[type=submit]", "Add")

    browser.see("name", "dialog [role=alert]")
    browser.see("expires", "dialog [role=alert]")


def test_a_token_is_removed_only_after_a_question(browser: Browser, system: System) -> None:
    made = system.api.make_token("bob", "viewer")
    remove = f'button[aria-label="Remove the token {made["id"]} of bob"]'
    browser.open("/tokens")
    browser.click(remove)
    browser.see("worth nothing from then on", "dialog")
    browser.click("dialog button", "Back")
    assert role_of(system, made["token"]) == "viewer"

    browser.click(remove)
    browser.click("dialog button", "Remove the token")

    browser.wait(lambda: not browser.driver.find_elements("css selector", remove), "it is listed no more")
    assert role_of(system, made["token"]) is None
    focused = browser.driver.switch_to.active_element.text
    assert focused == "Add a token", "who uses the keyboard is not sent back to the beginning"


def test_who_removes_the_token_they_came_with_is_logged_out(stranger: Browser, system: System) -> None:
    made = system.api.make_token("carol", "admin")
    stranger.log_in(made["token"])
    stranger.open("/tokens")
    stranger.find("table.tokens tr", "(yours)")
    stranger.click(f'button[aria-label="Remove the token {made["id"]} of carol"]')
    stranger.see("you will be logged out", "dialog")
    stranger.click("dialog button", "Remove the token")

    stranger.see("Log in", "h1")


def test_who_is_no_administrator_sees_no_tokens(stranger: Browser, system: System) -> None:
    stranger.log_in(system.api.make_token("dave", "submitter")["token"])
    stranger.open("/tokens")

    stranger.see("Only administrators see them.", "main")
    assert stranger.driver.find_elements("css selector", 'header a[href="/tokens"]') == []


def test_the_keyboard_is_enough_to_make_a_token(browser: Browser, system: System) -> None:
    browser.open("/tokens")
    browser.find(ADD).send_keys(Keys.ENTER)
    browser.find("#token-name")
    for text in ("erin", "v", "1h", "by keyboard"):
        browser.driver.switch_to.active_element.send_keys(text + Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.wait(lambda: not browser.driver.find_elements("css selector", "dialog"), "Escape closes it")
    assert browser.driver.switch_to.active_element.text == "Add a token"

    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.find("#token-name").send_keys("erin" + Keys.TAB + "v" + Keys.TAB + "1h" + Keys.ENTER)
    token = browser.find("#new-token").get_attribute("value")
    assert role_of(system, str(token)) == "viewer"


def test_while_a_token_is_made_there_is_no_way_back(browser: Browser, system: System) -> None:
    begin_to_add(browser, "heidi")
    browser.wait(lambda: not browser.find("dialog button", "Back").is_enabled(), "Back is no way")
    browser.find("#token-name").send_keys(Keys.ESCAPE)
    assert browser.find("dialog[open] #token-name").is_displayed()

    browser.driver.execute_script("window.goOn()")
    assert role_of(system, str(browser.find("#new-token").get_attribute("value"))) == "submitter"


def test_a_token_whose_question_has_gone_is_shown_at_once_and_only_then(browser: Browser, system: System) -> None:
    """Browsers close a dialog that does not want to, if they are asked twice."""
    begin_to_add(browser, "ivan")
    browser.driver.execute_script("document.querySelector('dialog').close()")
    browser.wait(lambda: not browser.driver.find_elements("css selector", "dialog"), "the question has gone")
    browser.click(ADD, "Add a token")
    browser.find("#token-name")

    browser.driver.execute_script("window.goOn()")
    token = browser.find("#new-token").get_attribute("value")
    assert role_of(system, str(token)) == "submitter"
    browser.see("The token of ivan", "dialog:modal:has(#new-token)")
    browser.click("dialog button", "Done")
    browser.click("dialog button", "Back")
    browser.wait(lambda: not browser.driver.find_elements("css selector", "dialog"), "nothing is asked or shown")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_its_dialogs(browser: Browser, system: System, theme: Theme) -> None:
    system.api.make_token("frank", "viewer", note="to be looked at")
    browser.open("/tokens")
    browser.choose_theme(theme)
    browser.click("table.tokens button", "Remove")
    browser.find("dialog p")
    assert browser.accessibility_faults() == []
    browser.click("dialog button", "Back")
    browser.click(ADD, "Add a token")
    browser.fill("#token-name", "grace")
    assert browser.accessibility_faults() == []
    browser.click("dialog button[type=submit]", "Add")
    browser.find("#new-token")
    assert browser.accessibility_faults() == []
