"""Linear chains beside crfsuite, CRF beside M3N, and how the time for one evaluation grows.

Seconds are those of the processor, on one thread, as crfsuite's own are: other work on the machine
does not count. Arguments: `crfsuite`, `l1`, `threads`, `letters`, `atis`, `growth`; all without.

crfsuite: chunking CoNLL-2000 with the 19 features of its tutorial, c2 = 1. A line for each solver:
seconds to a relative 1e-3 and 1e-6 of the least objective that either found, iterations to 1e-6,
the peak of memory, and the F1 of chunks on the test part.
"""

from __future__ import annotations

import lzma
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel import losses
from fenchel.data.conll import read_conll
from fenchel.engines import Serial, Threads
from fenchel.estimators.chunks import agreement
from fenchel.estimators.sequences import named_tokens, split
from fenchel.features.templates import Tokens
from fenchel.losses import chain_formulas

TUTORIAL = "\n".join(
    [f"w[{k}]=%x[{k},0]" for k in range(-2, 3)]
    + ["w[-1]|w[0]=%x[-1,0]|%x[0,0]", "w[0]|w[1]=%x[0,0]|%x[1,0]"]
    + [f"pos[{k}]=%x[{k},1]" for k in range(-2, 3)]
    + [f"pos[{k}]|pos[{k + 1}]=%x[{k},1]|%x[{k + 1},1]" for k in range(-2, 2)]
    + [f"pos[{k}..]=%x[{k},1]|%x[{k + 1},1]|%x[{k + 2},1]" for k in range(-2, 1)]
)
Curve = list[tuple[float, float]]  # seconds, objective


class Run(NamedTuple):
    """What a solver did: its curve, peak memory in MB, and tags of the test part."""

    curve: Curve
    memory: float
    tags: list[list[str]]


def tagged(name: str, part: str) -> tuple[Tokens, list[list[str]]]:
    tokens = read_conll(Path(os.environ["FENCHEL_DATA"]) / name / f"{part}.txt.xz")
    return tokens._replace(columns=tokens.columns[:-1]), split(tokens.columns[-1], tokens.starts)


def alone(work: Callable[..., Run], *args: Any) -> Run:
    """The work in a process of its own, for its peak of memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def ours(penalty: str, strength: float, seconds: float) -> Run:
    (X, y), (X_test, _) = tagged("conll2000", "train"), tagged("conll2000", "test")
    curve: Curve = []
    started = time.process_time()

    def watch(record: fenchel.Record) -> None:
        curve.append((time.process_time() - started, record.objective * len(y)))

    model = fenchel.SequenceLabeler(
        template=TUTORIAL,
        penalty=penalty,
        alpha=strength / len(y),
        tol=1e-7,
        max_seconds=seconds,
        n_jobs=1,
        callback=watch,
    )
    model.fit(X, y)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first = curve[0][0]  # reading features and finding pairs is not the solver's, nor in crfsuite's
    return Run([(s - first, J) for s, J in curve], memory, model.predict(X_test))


def crfsuite(c1: float, c2: float, iterations: int) -> Run:
    import pycrfsuite

    (X, y), (X_test, _) = tagged("conll2000", "train"), tagged("conll2000", "test")

    def items(tokens: Tokens) -> list[list[list[str]]]:
        named = named_tokens(tokens, TUTORIAL)
        names, rows = named.names, named.column.reshape(named.n_tokens, -1).tolist()
        ends = zip(named.starts[:-1], named.starts[1:], strict=True)
        return [[[names[k] for k in rows[t]] for t in range(i, j)] for i, j in ends]

    curve: Curve = []

    class Watched(pycrfsuite.Trainer):
        def message(self, text: str) -> None:
            self.text = getattr(self, "text", "") + text
            for loss, seconds in re.findall(
                r"Loss: (\S+)(?s:.*?)Seconds required for this iteration: (\S+)", self.text
            ):
                curve.append(((curve[-1][0] if curve else 0.0) + float(seconds), float(loss)))
                self.text = ""

    trainer = Watched(verbose=True)
    trainer.set_params(
        {"c1": c1, "c2": c2, "max_iterations": iterations, "epsilon": 1e-9, "delta": 1e-9}
    )
    for sequence, tags in zip(items(X), y, strict=True):
        trainer.append(sequence, tags)
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        return Run(curve, memory, [tagger.tag(sequence) for sequence in items(X_test)])


def compare(penalty: str, c1: float, c2: float, iterations: int) -> None:
    strength = 2 * c2 if penalty == "l2" else c1
    runs = {
        "fenchel": alone(ours, penalty, strength, 400.0),
        "crfsuite": alone(crfsuite, c1, c2, iterations),
    }
    least = min(J for run in runs.values() for _, J in run.curve)
    gold = tagged("conll2000", "test")[1]
    print(f"conll2000, {penalty}: least objective found {least:.4f}")
    for name, run in runs.items():
        marks = []
        for target in (1e-3, 1e-4, 1e-5, 1e-6):
            at = [k for k, (_, J) in enumerate(run.curve) if J <= least * (1 + target)]
            marks.append(f"{run.curve[at[0]][0]:7.1f} s {at[0] + 1:4}" if at else f"{'-':>14}")
        f1 = agreement(gold, run.tags).f1
        last = run.curve[-1][1]
        print(
            f"  {name:9} {'  '.join(marks)}  last {last / least - 1:.1e} above  "
            f"{run.memory:6.0f} MB  F1 {100 * f1:.2f}",
            flush=True,
        )


def letters(part: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """The words of a part of the OCR set: pixels, letters, and the word of each."""
    from sklearn.datasets import load_svmlight_file

    path = Path(os.environ["FENCHEL_DATA"]) / "ocr_letters" / f"{part}.svm.xz"
    with lzma.open(path) as file:
        X, y, words = load_svmlight_file(file, n_features=128, query_id=True)
    return X, y.astype(int), words


def accuracy(problem: fenchel.Problem, w: np.ndarray) -> float:
    """The share of letters of the test part that are read."""
    X, y, words = letters("test")
    pairs = problem.risk.pairs
    starts = np.concatenate([[0], np.flatnonzero(np.diff(words)) + 1, [len(y)]])
    found = chain_formulas.best((X @ pairs.states(w)).toarray(), pairs.transitions(w), starts)[1]
    return float(np.mean(problem.risk.classes[found] == y))


def ocr() -> None:
    print("ocr_letters, 626 words; to a gap of 1e-2")
    X, y, words = letters("train")
    cases = {
        "crf": (losses.CRF(pairs="all"), ("lbfgs", "bmrm")),
        "m3n": (losses.M3N(pairs="all"), ("bmrm", "ls-bmrm")),
        "soft_m3n": (losses.SoftM3N(temperature=0.1, pairs="all"), ("lbfgs",)),
    }
    for strength in (1e-2, 1e-3, 1e-4, 1e-5):
        for name, (loss, able) in cases.items():
            problem = fenchel.problem(
                X, y, loss=loss, groups=words, strength=strength, engine=Serial()
            )
            for solver in able:
                started = time.process_time()
                found = fenchel.minimize(problem, solver, gap=1e-2, max_seconds=60)
                seconds = time.process_time() - started
                print(
                    f"  {strength:g} {name:9} {solver:8} J {found.objective:10.5f}  "
                    f"gap {found.gap:.1e}  {found.iterations:5} iterations {found.passes:6} passes "
                    f"{seconds:7.1f} s  accuracy {100 * accuracy(problem, found.w):.1f}",
                    flush=True,
                )


def growth() -> None:
    """Seconds for one evaluation against tokens and labels, and the exponents of best fit."""
    rng = np.random.default_rng(0)

    def seconds(n: int, n_labels: int) -> float:
        X = np.eye(50)[rng.integers(0, 50, n)]
        y = np.arange(n) % n_labels
        problem = fenchel.problem(
            X, y, loss=losses.CRF(pairs="all"), groups=np.arange(n) // 20, engine=Serial()
        )
        w = rng.normal(size=problem.risk.n_parameters)
        times = []
        for _ in range(5):
            started = time.process_time()
            problem.risk.at(w)
            times.append(time.process_time() - started)
        return min(times)

    for name, sizes, at in (
        ("tokens", [10_000, 20_000, 40_000, 80_000], lambda n: seconds(n, 20)),
        ("labels", [32, 64, 128, 256], lambda n_labels: seconds(4000, n_labels)),
    ):
        times = [at(size) for size in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        shown = ", ".join(f"{n:,}: {1e3 * t:.1f} ms" for n, t in zip(sizes, times, strict=True))
        print(f"{name}: {shown}; exponent {exponent:.2f}", flush=True)


def threads() -> None:
    """Seconds by the clock for one evaluation on one thread and on two."""
    X, y = tagged("conll2000", "train")
    model = fenchel.SequenceLabeler(template=TUTORIAL, max_iter=1)
    (problem,) = model._posed(X, y, None).problems
    w = np.zeros(problem.risk.n_parameters)
    for engine in (Serial(), Threads(2)):
        problem.risk.engine = engine.place(problem.risk.engine.shards)
        times = []
        for _ in range(7):
            started = time.perf_counter()
            problem.risk.at(w)
            times.append(time.perf_counter() - started)
        print(f"{engine!r}: {min(times):.3f} s for one evaluation", flush=True)


def atis() -> None:
    X, y = tagged("atis", "train")
    X_test, gold = tagged("atis", "test")
    for loss in ("crf", "m3n"):
        for alpha in (1e-3, 1e-4):
            started = time.process_time()
            model = fenchel.SequenceLabeler(
                loss=loss, template="words", alpha=alpha, tol=1e-2, max_seconds=120, n_jobs=1
            )
            model.fit(X, y)
            found = agreement(gold, model.predict(X_test))
            print(
                f"atis {loss:4} {alpha:g}: gap {model.gap_:.1e}, {model.result_.passes} passes, "
                f"{time.process_time() - started:.1f} s, accuracy {100 * found.accuracy:.2f}, "
                f"F1 {100 * found.f1:.2f}",
                flush=True,
            )


PARTS: dict[str, Callable[[], None]] = {
    "crfsuite": lambda: compare("l2", 0.0, 1.0, 250),
    "l1": lambda: compare("l1", 1.0, 0.0, 200),
    "threads": threads,
    "letters": ocr,
    "atis": atis,
    "growth": growth,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
