"""Writes the golden files of a new format: `python tests/model/golden/write.py`.

To be run once for each value of `fenchel._system.container.FORMAT`, when it is new. The files of a
format are never written again: that they still load is what they are for.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent.parent))

from models import UNFITTED, X, answers, fitted  # noqa: E402

import fenchel  # noqa: E402
from fenchel._system.container import FORMAT  # noqa: E402


def facts(model):
    """What a model must still say when it is loaded."""
    attributes = ("objective_", "lower_bound_", "gap_", "status_", "n_iter_", "solver_")
    return {
        "type": type(model).__name__,
        "parameters": {name: repr(value) for name, value in model.get_params().items()},
        "coef": model.coef_.tolist(),
        "attributes": {name: getattr(model, name) for name in attributes},
        "answers": {name: answer.tolist() for name, answer in answers(model).items()},
    }


def main():
    target = FOLDER / f"{FORMAT}.json"
    if target.exists():
        sys.exit(f"{target} is there: the golden files of format {FORMAT} are written already")
    models = {name: fitted(name) for name in UNFITTED}
    for name, model in models.items():
        names = [f"column {j}" for j in range(X.shape[1])] if name == "novelty" else None
        base = 1 if name == "poisson" else None
        path = FOLDER / f"{FORMAT}-{name}.fenchel"
        fenchel.save(model, path, feature_names=names, index_base=base)
    expected = {name: facts(model) for name, model in models.items()}
    target.write_text(json.dumps({"X": X.tolist(), "models": expected}) + "\n")


if __name__ == "__main__":
    main()
