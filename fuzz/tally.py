"""What a campaign counted, as tables in markdown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Line(NamedTuple):
    """One run, as little of it as is counted; what a worker sends home."""

    solver: str
    outcome: str
    seconds: float
    verified: bool
    short: bool  # claimed far less than verify proves
    faults: list[tuple[str, str]]  # kind and detail


@dataclass
class Verdict:
    """One problem and its runs."""

    seed: int
    loss: str
    regularizer: str
    what: str
    lines: list[Line] = field(default_factory=list)
    refused: bool = False
    conic: bool = False


class Tally:
    """Counts by loss, regulariser, solver and outcome, and the faults."""

    def __init__(self) -> None:
        self.problems, self.refused, self.conic = 0, 0, 0
        self.runs, self.refusals, self.verified, self.short = 0, 0, 0, 0
        self.seconds = 0.0
        self.by: dict[str, Counter[tuple[str, str]]] = {
            "loss": Counter(),
            "regulariser": Counter(),
            "solver": Counter(),
        }
        self.kinds: dict[tuple[str, str], list[int]] = {}

    def add(self, verdict: Verdict) -> None:
        """Counts a problem."""
        self.problems += 1
        self.refused += verdict.refused
        self.conic += verdict.conic
        for line in verdict.lines:
            if line.outcome == "refused":
                self.refusals += 1
                continue
            self.runs += 1
            self.verified += line.verified
            self.short += line.short
            self.seconds += line.seconds
            names = (verdict.loss, verdict.regularizer, line.solver)
            for counter, name in zip(self.by.values(), names, strict=True):
                counter[name, line.outcome] += 1
                counter[name, "runs"] += 1
                counter[name, "faults"] += len(line.faults)
            for kind, _ in line.faults:
                self.kinds.setdefault((kind, line.solver), []).append(verdict.seed)

    @property
    def n_faults(self) -> int:
        """All faults together."""
        return sum(map(len, self.kinds.values()))

    def progress(self) -> str:
        """How far the campaign has come, in a line."""
        return f"{self.problems} problems, {self.runs} runs, {self.n_faults} faults"

    def summary(self) -> str:
        """The tables."""
        share = self.short / self.verified if self.verified else 0.0
        parts = [
            f"{self.runs} runs of {self.problems} problems ({self.refused} problems and "
            f"{self.refusals} combinations of a problem and a solver were refused), "
            f"{self.conic} problems with a conic reference too; {self.seconds:.0f} s in solvers.",
            f"**{self.n_faults} faults.** {self.verified} results were verified; in {share:.2%} of "
            "them the claim was below what verify proves by more than 10 %.",
        ]
        if self.kinds:
            parts.append(self._faults())
        parts += [self._table(name) for name in self.by]
        return "\n\n".join(parts)

    def _faults(self) -> str:
        lines = ["| fault | solver | count | seeds |", "|---|---|---:|---|"]
        for (kind, solver), seeds in sorted(self.kinds.items()):
            some = ", ".join(map(str, dict.fromkeys(seeds[:40])))
            few = ", ".join(some.split(", ")[:5])
            lines.append(f"| {kind} | {solver} | {len(seeds)} | {few} |")
        return "\n".join(lines)

    def _table(self, what: str) -> str:
        counter = self.by[what]
        outcomes = ["runs", "faults", *sorted({o for _, o in counter} - {"runs", "faults"})]
        lines = [f"| {what} | {' | '.join(outcomes)} |", "|---|" + "---:|" * len(outcomes)]
        for name in sorted({name for name, _ in counter}):
            counts = " | ".join(str(counter[name, outcome]) for outcome in outcomes)
            lines.append(f"| {name} | {counts} |")
        return "\n".join(lines)
