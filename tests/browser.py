"""Opens pages in a real browser, for tests; skips them where there is none.

    with opened(path, width=400, dark=True) as page:
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert not page.faults

`page` is Playwright's, with `faults`: what the console calls an error, exceptions of scripts, and
every request that left the machine, since our pages need no network.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

_ARGUMENTS = (
    "--no-sandbox --headless --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


@contextlib.contextmanager
def opened(
    place: str | Path, *, width: int = 1200, height: int = 900, dark: bool = False
) -> Iterator[Any]:
    """A page, of a file or at an address of this machine, in a window of that size."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a browser: chromium, or google-chrome")
    with playwright.sync_playwright() as drivers:
        browser = drivers.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
            )
            _watch(page)
            page.goto(place.resolve().as_uri() if isinstance(place, Path) else place)
            yield page
        finally:
            browser.close()


def _watch(page: Any) -> None:
    """Collects faults from the start, and lets no request leave the machine."""
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(f"exception: {error}"))
    page.on(
        "console",
        lambda line: page.faults.append(f"console: {line.text}") if line.type == "error" else None,
    )

    def route(handler: Any) -> None:
        address = urlsplit(handler.request.url)
        if address.scheme in ("http", "https") and address.hostname not in _HERE:
            page.faults.append(f"request: {handler.request.url}")
            handler.abort()
        else:
            handler.continue_()

    page.route("**/*", route)


_HERE = ("127.0.0.1", "localhost", "::1")
