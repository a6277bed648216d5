"""The scripts of the gallery run, print what the page shows, and draw their pictures."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pages import DOCS, ROOT, words

SCRIPTS = sorted(path for path in (ROOT / "examples/gallery").glob("*.py") if path.stem != "style")
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_does_what_the_page_shows(script, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(script.parent)
    runpy.run_path(str(script), run_name="__main__")
    shown = re.search(rf"\$ python {script.name}\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None and words(capsys.readouterr().out) == words(shown[1])
    assert Path(f"{script.stem}.svg").read_text().count("<svg") == 1
    assert (DOCS / "gallery" / f"{script.stem}.svg").exists()
    assert f'\n    --8<-- "gallery/{script.name}"\n' in PAGE  # a formatter once took it for Python
