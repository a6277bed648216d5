"""The callbacks of docs/how-to/watching-a-fit.md for other packages, with stand-ins for these.

The real packages are heavy; a stand-in takes what they take, by their signatures, and notes it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import fenchel

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "watching-a-fit.md").read_text(
    encoding="utf-8"
)
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)


class Bar:
    """tqdm's, as far as it is used."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, *, total: float, unit: str, bar_format: str):
        self.total, self.n = total, 0.0
        self.made.append(self)

    def update(self, n: float) -> None:
        self.n += n

    def set_postfix(self, **shown: Any) -> None:
        assert set(shown) == {"iteration", "objective"}


class Writer:
    """tensorboardX's."""

    said: ClassVar[list[tuple[str, int]]] = []

    def __init__(self, logdir: str):
        pass

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.said.append((tag, step))

    def add_histogram(self, tag: str, values: Any, step: int) -> None:
        assert len(values) == 6
        self.said.append((tag, step))


class Tracker(ModuleType):
    """mlflow's functions."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.steps: list[int] = []
        self.params: dict[str, str] = {}
        self.kept: list[str] = []

    def start_run(self) -> Writer:
        return Writer("")

    def log_metrics(self, metrics: dict[str, float], step: int) -> None:
        assert set(metrics) == {"objective", "lower_bound", "gap"}
        self.steps.append(step)

    def log_params(self, params: dict[str, str]) -> None:
        self.params = params

    def set_tag(self, key: str, value: str) -> None:
        assert "min J" in value

    def log_artifact(self, path: str) -> None:
        assert Path(path).exists()
        self.kept.append(path)


@pytest.fixture
def names(monkeypatch, tmp_path) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    y = np.where(X[:, 0] + rng.normal(size=50) > 0, 1, -1)
    problem = fenchel.problem(X, y, loss="logistic", strength=1e-2)
    return {"np": np, "fenchel": fenchel, "X": X, "y": y, "problem": problem}


def block(word: str) -> str:
    (found,) = (text for text in BLOCKS if word in text)
    return found


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_a_bar_of_tqdm_fills_as_the_gap_closes(monkeypatch, names):
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    stand_in(monkeypatch, "tqdm.auto", tqdm=Bar)
    exec(block("tqdm"), names)
    assert Bar.made[-1].n == Bar.made[-1].total == pytest.approx(6)


def test_a_bar_of_rich_does(names, capsys):
    exec(block("rich.progress"), names)
    assert "digits" in capsys.readouterr().out


def test_tensorboard_has_every_iteration(monkeypatch, names):
    stand_in(monkeypatch, "tensorboardX", SummaryWriter=Writer)
    exec(block("tensorboardX"), names)
    n = max(step for _, step in Writer.said)
    assert [step for tag, step in Writer.said if tag == "gap"] == list(range(1, n + 1))


def test_mlflow_has_the_settings_the_curve_and_the_model(monkeypatch, names):
    tracker = Tracker()
    monkeypatch.setitem(sys.modules, "mlflow", tracker)
    exec(block("mlflow"), names)
    assert tracker.steps == list(range(1, len(tracker.steps) + 1))
    assert tracker.params["loss"] == "logistic" and tracker.kept == ["model.fenchel"]
