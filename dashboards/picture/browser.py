"""A page as a PNG, by a headless Chromium."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dashboards.picture.markup import Markup
from dashboards.picture.page import WIDTH

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str | None:
    """The browser: $CHROMIUM, or one on the path; null where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def screenshot(browser: str, page: Markup, height: int, file: Path) -> None:
    """Write what a browser makes of a page. Raises `CalledProcessError` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page, encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium's sandbox refuses to work for root
        command += [f"--window-size={WIDTH},{height}", f"--screenshot={file.resolve()}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
