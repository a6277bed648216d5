"""Writes the golden pipeline of a format, once: `python tests/model/golden_pipelines/write.py`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from prepared import ESTIMATORS, FRAME, THREE

import fenchel

FOLDER = Path(__file__).parent

if __name__ == "__main__":
    model = ESTIMATORS["frame"][0].fit(FRAME, THREE)
    fenchel.save(model, FOLDER / "1-frame.fenchel")
    rows = FRAME.head(8)
    facts = {"X": rows.to_dict("list"), "probabilities": model.predict_proba(rows).tolist()}
    (FOLDER / "1-frame.json").write_text(json.dumps(facts))
