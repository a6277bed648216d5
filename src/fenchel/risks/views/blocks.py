"""The dual of a mean of maxima, block by block: distributions over the outputs in use.

A max-margin risk is R(w) = sum_i c_i max over y' of H_i(y'), c_i = s_i / S, where each H_i(y') =
Delta(y') + <w, psi_i(y')> is a plane. A distribution over the outputs y' of each block i (a
sequence) is a dual point: the mean of its planes lies below R,

    R(v) >= <a, v> + b,    a = sum_i c_i E[psi_i],    b = sum_i c_i E[Delta],

and under lambda/2 ||w||^2 the best w for it is -a / lambda. Few outputs of a block have a share in
a distribution that block-coordinate Frank-Wolfe has found; they and their shares are all that is
kept, and the evidence for the cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.sequences import Sequences
from fenchel.losses import M3N
from fenchel.risks.base import Array, Cut, Problem, Risk, State
from fenchel.risks.chains import ChainRisk
from fenchel.witness import Bracket, Tangency, Ties, Witness

Indices = npt.NDArray[np.int64]


class _Listed(NamedTuple):
    """The labellings in use of all sequences."""

    sequence: Indices
    weight: Array
    labels: npt.NDArray[np.uint16]


class BlockDual:
    """A distribution over labellings of each sequence, and its w."""

    def __init__(self, problem: Problem):
        risk = problem.risk
        assert isinstance(risk, ChainRisk) and isinstance(risk.loss, M3N)
        self.risk, self.strength, self.pulse = risk, problem.strength, problem.pulse
        self.w = np.zeros(risk.n_parameters)
        self._slack = risk.loss.rescaling == "slack"
        self._cost = None if self._slack else risk.loss.costs(risk.pairs.n_labels)
        self._shards = [shard for shard in risk.engine.shards if isinstance(shard, Sequences)]
        self._atoms = [_kernels.ChainAtoms(shard.n_sequences) for shard in self._shards]
        self._firsts = np.cumsum([0, *(shard.n_sequences for shard in self._shards)])

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """It needs maxima over outputs that a search finds, of sequences in this memory."""
        if not (isinstance(risk, ChainRisk) and isinstance(risk.loss, M3N)):
            return "it knows the max-margin losses of sequences (m3n) only"
        if not risk.engine.in_one_memory:
            return "it visits one sequence after the other, which must be in one memory"
        return None

    def search(self, seeds: list[int], strength: float, w: Array) -> float:
        """A search for the worst output of each block in random order, and steps among those found.

        `w` follows, as that of the dual point under a regulariser of this strength. What the steps
        could at most have gained, as blocks were when the search came to them.
        """
        gap = 0.0
        for shard, atoms, place in zip(self._shards, self._atoms, self._firsts, strict=False):
            rng = np.random.default_rng([*seeds, int(place)])
            for order in np.array_split(rng.permutation(shard.n_sequences), self._runs(shard)):
                self.pulse()
                gap += shard.chains.frank_wolfe(
                    shard.y,
                    shard.s,
                    self._cost,
                    self._slack,
                    order.astype(np.int64),
                    strength,
                    self.risk.weight,
                    atoms,
                    w,
                )[0]
        self.risk.passes += 2
        return gap

    def exchange(
        self, seeds: list[int], strength: float, w: Array, most: int, enough: float
    ) -> None:
        """Sweeps of steps among the outputs in use, until one could gain no more than `enough`."""
        faces, rng = _kernels.Simplices(), np.random.default_rng(seeds)
        for shard, atoms in zip(self._shards, self._atoms, strict=True):
            shard.chains.append_faces(shard.y, shard.s, self._slack, self.risk.weight, atoms, faces)
        for _ in range(most):
            self.pulse()
            if faces.sweep(rng.permutation(faces.n_blocks), strength, w) <= enough:
                break
        first = 0
        for atoms in self._atoms:
            first = atoms.assign(faces, first)

    @staticmethod
    def _runs(shard: Sequences) -> int:
        """How many calls a sweep is made of, as nothing can interrupt one: each has its own w."""
        work = len(shard.y) * shard.pairs.n_labels**2 + shard.rows.n_numbers * shard.pairs.n_labels
        return 1 + int(work / (64 * len(shard.pairs.label) + (1 << 28)))

    def plane(self) -> tuple[Array, float]:
        """(a, b), computed anew from the shares."""
        S, a, b = self.risk.weight, np.zeros(self.risk.n_parameters), 0.0
        for shard, atoms in zip(self._shards, self._atoms, strict=True):
            b += shard.chains.expected_plane(shard.y, shard.s, atoms, a)
        return a / S, b / S

    def settle(self) -> Cut:
        """The cut of the dual point, whose w loses the round-off of many steps."""
        a, b = self.plane()
        self.w = -a / self.strength
        listed = self._listed()
        return Cut(a, b, (self.risk.length, b), lambda: self._witness(listed))

    def _listed(self) -> _Listed:
        parts = [atoms.listed() for atoms in self._atoms]
        sequence, weight, labels = (np.concatenate([part[k] for part in parts]) for k in range(3))
        sequence += np.repeat(self._firsts[:-1], [len(part[0]) for part in parts])
        return _Listed(sequence, weight, labels)

    def _witness(self, listed: _Listed) -> Witness:
        """For each token of each labelling in use where it is, its label, and the share."""
        lengths = np.concatenate([np.diff(shard.starts) for shard in self._shards])
        starts = np.cumsum(lengths) - lengths
        n = lengths[listed.sequence]
        inside = np.arange(len(listed.labels)) - np.repeat(np.cumsum(n) - n, n)
        rows = np.repeat(starts[listed.sequence], n) + inside
        slopes = np.column_stack([listed.labels.astype(np.float64), np.repeat(listed.weight, n)])
        return Witness(
            [Tangency(np.empty(0), Bracket(), Ties(rows.astype(np.intp), slopes))], [1.0]
        )

    def state(self) -> State:
        """The outputs in use and their shares, as plain arrays."""
        return self._listed()._asdict()

    def restore(self, state: State) -> None:
        """Takes them over, and the w that goes with them."""
        lengths = np.concatenate([np.diff(shard.starts) for shard in self._shards])
        ends = np.searchsorted(state["sequence"], self._firsts)
        letters = np.concatenate([[0], np.cumsum(lengths[state["sequence"]])])
        for shard, atoms, place, i, j in zip(
            self._shards, self._atoms, self._firsts, ends[:-1], ends[1:], strict=False
        ):
            shard.chains.restore(
                shard.y,
                self._cost,
                self._slack,
                np.ascontiguousarray(state["sequence"][i:j] - place),
                np.ascontiguousarray(state["weight"][i:j]),
                np.ascontiguousarray(state["labels"][letters[i] : letters[j]]),
                atoms,
            )
        self.w = -self.plane()[0] / self.strength
