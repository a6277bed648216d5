"""docs/how-to/tables.md has a line for each kind of bad table."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli_bad_tables import ERRORS, TREATED

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "tables.md"


@pytest.mark.parametrize("bad", ERRORS + TREATED, ids=lambda bad: bad.kind)
def test_the_page_has_a_line_for_every_kind(bad):
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {bad.kind}")]
    assert lines
    assert bad.fine or any(bad.said.replace("|", "\\|") in line for line in lines)
