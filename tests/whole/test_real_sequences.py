"""Certified minima on CoNLL-2000 beside crfsuite's, with the same features."""

import itertools
import os
from pathlib import Path

import pytest

import fenchel
from fenchel.data.conll import read_conll
from fenchel.estimators.chunks import agreement
from fenchel.estimators.sequences import named_tokens, split

pytestmark = pytest.mark.slow

pycrfsuite = pytest.importorskip("pycrfsuite")

TEMPLATE = "w%x[0,0]\nv%x[-1,0]\np%x[0,1]\nq%x[-1,1]/%x[0,1]\nr%x[0,1]/%x[1,1]"
N = 80


def part(name, n):
    """The first n sentences of a part, and their tags."""
    root = Path(os.environ.get("FENCHEL_DATA", "."))
    path = root / "conll2000" / f"{name}.txt.xz"
    if not path.is_file():
        pytest.skip("set FENCHEL_DATA to the folder of real data sets to run this test")
    tokens = read_conll(path)
    end = int(tokens.starts[n])
    columns = [column[:end] for column in tokens.columns]
    tags = split(columns.pop(), tokens.starts[: n + 1])
    return tokens._replace(columns=columns, starts=tokens.starts[: n + 1]), tags


def items(tokens):
    named = named_tokens(tokens, TEMPLATE)
    rows = named.column.reshape(named.n_tokens, -1).tolist()
    ends = itertools.pairwise(named.starts.tolist())
    return [[[named.names[k] for k in rows[t]] for t in range(i, j)] for i, j in ends]


class Trainer(pycrfsuite.Trainer):
    """Keeps what it says."""

    said = ""

    def message(self, text):
        self.said += text


def crfsuite(X, y, path, **parameters):
    """The least objective that it found, and its model."""
    trainer = Trainer(verbose=True)
    trainer.set_params({"max_iterations": 400, "epsilon": 1e-7, "delta": 1e-9, **parameters})
    for sequence, tags in zip(items(X), y, strict=True):
        trainer.append(sequence, tags)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    found = [
        float(line.split()[1]) for line in trainer.said.split("\n") if line.startswith("Loss: ")
    ]
    return min(found), tagger


@pytest.mark.parametrize(
    ("penalty", "alpha", "parameters"),
    [("l2", 2.0 / N, {"c1": 0.0, "c2": 1.0}), ("l1", 0.5 / N, {"c1": 0.5, "c2": 0.0})],
)
def test_the_minimum_is_that_of_crfsuite(penalty, alpha, parameters, tmp_path):
    (X, y), (X_test, gold) = part("train", N), part("test", N)
    settings = {"template": TEMPLATE, "penalty": penalty, "alpha": alpha, "tol": 1e-5}
    model = fenchel.SequenceLabeler(**settings).fit(X, y)
    theirs, tagger = crfsuite(X, y, tmp_path / "model", **parameters)
    assert model.gap_ <= 1e-5
    assert model.lower_bound_ * N <= theirs * (1 + 1e-6)
    assert model.objective_ * N <= theirs * (1 + 1e-5)
    assert theirs <= model.objective_ * N * (1 + 1e-3)
    f1 = agreement(gold, model.predict(X_test)).f1
    assert f1 > 0.7
    assert f1 == pytest.approx(agreement(gold, [tagger.tag(x) for x in items(X_test)]).f1, abs=0.01)
