"""Open a page of results in a real browser and look for what a reader would trip over.

Needs Chromium with its driver and selenium (`pip install cbe-bench[browser]`):

    python scripts/check_page.py results/quick/index.html --screenshots /tmp/page

At the width of a phone and of a desktop, light and dark: nothing on the console, nothing wider than the window, figures
that enlarge and close again, tables that sort. Ends with 1 and one line for each fault.
"""

import argparse
import base64
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (390, 1400)
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
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def set_window(browser: webdriver.Chrome, width: int, theme: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def look(browser: webdriver.Chrome, address: str, width: int, theme: str) -> list[str]:
    """Return what is wrong at one width in one theme."""
    set_window(browser, width, theme)
    browser.get(address)
    faults = [f"console: {entry['message']}" for entry in browser.get_log("browser")]
    for state in ("as it opens", "with everything open"):
        total = browser.execute_script("return document.documentElement.scrollWidth")
        if total > width:
            faults.append(f"{state}: the page is {total} px wide: {browser.execute_script(WIDER)}")
        browser.execute_script("document.querySelectorAll('main details').forEach((e) => { e.open = true; })")
    faults += use(browser)
    return faults + [f"console, in use: {entry['message']}" for entry in browser.get_log("browser")]


def use(browser: webdriver.Chrome) -> list[str]:
    """Enlarge a figure, sort a table, change the theme; return what did not work."""
    faults = []
    zooms = browser.find_elements(By.CSS_SELECTOR, "button.zoom")
    if zooms:
        zooms[0].send_keys(Keys.ENTER)
        dialog = browser.find_element(By.ID, "enlarged")
        if not dialog.is_displayed() or not browser.execute_script(
            "return arguments[0].lastChild.naturalWidth", dialog
        ):
            faults.append("a figure does not enlarge")
        dialog.send_keys(Keys.ESCAPE)
        if dialog.is_displayed():
            faults.append("an enlarged figure does not close on Escape")
    for heads in browser.find_elements(By.CSS_SELECTOR, "#cost th:nth-child(4)"):
        for direction in ("ascending", "descending"):
            heads.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
            keys = browser.execute_script(SORTED, heads)
            if heads.get_attribute("aria-sort") != direction or keys != sorted(keys, reverse=direction == "descending"):
                faults.append(f"a table does not sort {direction}")
    for chart in browser.find_elements(By.CSS_SELECTOR, "#explorer .chart"):
        said = "return document.querySelector('#explorer caption').textContent"
        before = browser.execute_script(said)
        chart.send_keys(Keys.ARROW_RIGHT)
        if not chart.find_elements(By.TAG_NAME, "polyline") or browser.execute_script(said) == before:
            faults.append("the chart does not follow the arrow keys")
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(colour)
    browser.find_element(By.ID, "theme").send_keys(Keys.ENTER)
    if browser.execute_script(colour) == before:
        faults.append("the theme does not change")
    browser.execute_script("localStorage.clear()")
    return faults


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
    arguments = parser.parse_args()
    address, faults = arguments.page.resolve().as_uri(), []
    with open_browser() as browser:
        for width in WIDTHS:
            for theme in THEMES:
                found = look(browser, address, width, theme)
                faults += found
                print(f"{width} px, {theme}: {'; '.join(found) or 'fine'}")
                if arguments.screenshots:
                    arguments.screenshots.mkdir(parents=True, exist_ok=True)
                    target = arguments.screenshots / f"{width}-{theme}.png"
                    take_picture(browser, address, width, theme, target)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
