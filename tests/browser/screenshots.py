"""Pictures of every page, light and dark, narrow and wide, for a review by eye: ``make screenshots``."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from support import shown_home
from support.service import Service

WIDTHS = {360: 740, 1280: 900, 3840: 2160}


def main(target):
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service = Service(Path(folder) / "home").start()
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            pages = shown_home.fill(service, folder)
            for name, path in pages.items():
                for scheme in ("light", "dark"):
                    for width, height in WIDTHS.items():
                        context = browser.new_context(
                            color_scheme=scheme, viewport={"width": width, "height": height}
                        )
                        page = context.new_page()
                        page.goto(f"{service.url}/ui{path}", wait_until="load")
                        page.screenshot(path=target / f"{name}-{scheme}-{width}.png", full_page=width < 3840)
                        context.close()
                print(f"{name}: {len(WIDTHS) * 2} pictures")
        finally:
            browser.close()
            service.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
