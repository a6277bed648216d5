"""Fitted models, and a file for them."""

import pytest
from models import UNFITTED, fitted

import fenchel


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in UNFITTED}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fenchel"


@pytest.fixture
def refused(path):
    """Says why `load` refuses a file of this content; the message names the file."""

    def why(content):
        path.write_bytes(content)
        with pytest.raises(fenchel.InvalidData) as caught:
            fenchel.load(path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 1500
        return str(caught.value)

    return why
