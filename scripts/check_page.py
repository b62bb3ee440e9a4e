"""Open a page of results in a real browser and look for what a reader would trip over.

Needs Chromium with its driver, selenium (`pip install cbe-bench[browser]`) and axe-core (`npm pack axe-core`):

    python scripts/check_page.py results/quick/index.html --axe package/axe.min.js --screenshots /tmp/page

At the widths of a phone, a tablet and a desktop, light and dark: nothing on the console, nothing wider than the window,
no violation of accessibility rules that axe-core finds, as the page opens and with everything open; tables that sort,
the chart, the chooser, the chips and the theme by keyboard alone. Screenshots, and the page as it is printed, are for
looking at. Ends with 1 and one line for each fault.
"""

import argparse
import base64
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (390, 768, 1400)
THEMES = ("light", "dark")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDER = """
const most = document.documentElement.clientWidth;
const inside = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
  if (getComputedStyle(p).overflowX !== "visible") return true; return false; };
const wide = (e) => e.getClientRects().length && e.getBoundingClientRect().right > most + 1 && !inside(e);
return [...document.querySelectorAll("body *")].filter(wide).slice(0, 3).map((e) => e.outerHTML.slice(0, 80));
"""
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations.map((one) =>
  `${one.id} (${one.nodes.length}): ${one.nodes[0].target.join(" ")} ${one.help}`)));
"""
SORTED = """
const column = arguments[0].cellIndex;
return [...arguments[0].closest("table").tBodies[0].rows].map((row) => Number(row.cells[column].dataset.key));
"""


def open_browser() -> webdriver.Chrome:
    """Start a browser that keeps what is said on its console."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = shutil.which("chromedriver")
    if driver is None:
        sys.exit("chromedriver is not on the path: install Chromium and its driver")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(300)  # axe-core takes its time on a page of this size
    return browser


def set_window(browser: webdriver.Chrome, width: int, theme: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def look(browser: webdriver.Chrome, address: str, width: int, theme: str, axe: str) -> list[str]:
    """Return what is wrong at one width in one theme."""
    set_window(browser, width, theme)
    browser.get(address)
    faults = [f"console: {entry['message']}" for entry in browser.get_log("browser")]
    browser.execute_script(axe)
    for state in ("as it opens", "with everything open"):
        total = browser.execute_script("return document.documentElement.scrollWidth")
        if total > width:
            faults.append(f"{state}: the page is {total} px wide: {browser.execute_script(WIDER)}")
        faults += [f"{state}: axe: {found}" for found in browser.execute_async_script(AXE)]
        browser.execute_script("document.querySelectorAll('main details').forEach((e) => { e.open = true; })")
    faults += use(browser)
    return faults + [f"console, in use: {entry['message']}" for entry in browser.get_log("browser")]


def use(browser: webdriver.Chrome) -> list[str]:
    """Sort a table, walk through the chart, choose, filter, change the theme, all by keyboard; return what failed."""
    faults = []
    for heads in browser.find_elements(By.CSS_SELECTOR, "#cost th:nth-child(4)"):
        for direction in ("ascending", "descending"):
            heads.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
            keys = browser.execute_script(SORTED, heads)
            if heads.get_attribute("aria-sort") != direction or keys != sorted(keys, reverse=direction == "descending"):
                faults.append(f"a table does not sort {direction}")
    for chart in browser.find_elements(By.CSS_SELECTOR, "#explorer .chart"):
        before = _text(browser, "#explorer caption")
        chart.send_keys(Keys.ARROW_RIGHT)
        if not chart.find_elements(By.TAG_NAME, "polyline") or _text(browser, "#explorer caption") == before:
            faults.append("the chart does not follow the arrow keys")
        if "#explorer=" not in browser.current_url:
            faults.append("the address does not keep the choice of the chart")
    for box in browser.find_elements(By.CSS_SELECTOR, "#chooser input[name=train]"):
        before = _text(browser, "#chooser .why")
        box.send_keys(Keys.SPACE)
        if not before or _text(browser, "#chooser .why") == before:
            faults.append("the chooser does not answer")
    for chip in browser.find_elements(By.CSS_SELECTOR, ".chips button")[:1]:
        shown = "return document.querySelectorAll('#claims .card:not([hidden])').length"
        chip.send_keys(Keys.ENTER)
        if str(browser.execute_script(shown)) not in chip.text:
            faults.append("a chip does not filter the claims")
        chip.send_keys(Keys.ENTER)
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(colour)
    browser.find_element(By.ID, "theme").send_keys(Keys.ENTER)
    if browser.execute_script(colour) == before:
        faults.append("the theme does not change")
    browser.execute_script("localStorage.clear()")
    return faults


def _text(browser: webdriver.Chrome, selector: str) -> str:
    return str(browser.execute_script(f"return document.querySelector('{selector}').textContent"))


def save_print(browser: webdriver.Chrome, address: str, target: Path) -> None:
    """Save the page as it is printed."""
    set_window(browser, WIDTHS[-1], "light")
    browser.get(address)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    target.write_bytes(base64.b64decode(printed["data"]))


def take_picture(browser: webdriver.Chrome, address: str, width: int, theme: str, target: Path) -> None:
    """Save the whole page as an image."""
    set_window(browser, width, theme)
    browser.get(address)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    target.write_bytes(base64.b64decode(shot["data"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="save the whole page there as it looks")
    parser.add_argument(
        "--axe", type=Path, required=True, metavar="FILE", help="axe.min.js of the npm package axe-core"
    )
    arguments = parser.parse_args()
    axe = arguments.axe.read_text(encoding="utf-8")
    address, faults = arguments.page.resolve().as_uri(), []
    with open_browser() as browser:
        for width in WIDTHS:
            for theme in THEMES:
                found = look(browser, address, width, theme, axe)
                faults += found
                print(f"{width} px, {theme}: {'; '.join(found) or 'fine'}")
                if arguments.screenshots:
                    arguments.screenshots.mkdir(parents=True, exist_ok=True)
                    target = arguments.screenshots / f"{width}-{theme}.png"
                    take_picture(browser, address, width, theme, target)
        if arguments.screenshots:
            save_print(browser, address, arguments.screenshots / "print.pdf")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
