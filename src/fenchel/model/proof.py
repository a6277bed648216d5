"""What proves the bounds of a model, in a file beside it: as large as the data, at times.

Where others can check it, the file says what it proves and has a dual variable for each score
(statement.py, docs/reference/proof-format.md). Elsewhere, and in files of earlier versions, it
holds the witnesses as they are, for `verify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

import fenchel
from fenchel._system import container
from fenchel._system.container import Arrays, Path, take
from fenchel.errors import InvalidData
from fenchel.model.statement import Statement, stated
from fenchel.result import Result
from fenchel.risks.base import Problem
from fenchel.witness import Witness, packed, unpacked

_KIND = "proof"


class _ProofHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    version: Annotated[str, Meta(max_length=64)]  # of the library that wrote it
    runs: Annotated[int, Meta(ge=1, le=1 << 24)]
    statement: Statement | None = None


class Proof(NamedTuple):
    """The content of a file; made by all processes of an engine, to be written by one."""

    header: _ProofHeader
    arrays: Arrays

    def write(self, path: Path) -> None:
        """Writes or replaces the file in one step."""
        container.write(path, _KIND, self.header, self.arrays)


def save_proof(result: Result, problem: Problem, path: Path) -> None:
    """Writes what proves the bounds of a result, or replaces the file, in one step.

    With the data in a file, tools/check_proof.py of the repository checks it without fenchel; see
    docs/reference/proof-format.md. Raises InvalidCertificate if the result claims more than it
    proves, and InvalidData where the problem cannot be stated for others: its loss has no dual
    variables, nothing is penalised, or loss, regulariser or labels are none of those that the page
    lists.
    """
    proof = proof_of([result], [problem])
    if proof.header.statement is None:
        raise InvalidData(
            "this problem cannot be stated so that others could check it: its loss has no dual "
            "variables, nothing is penalised, or loss, regulariser or labels are none that "
            "docs/reference/proof-format.md lists; fenchel.verify can check the result"
        )
    proof.write(path)


def proof_of(
    results: Sequence[Result],
    problems: Sequence[Problem] = (),
    classes: npt.NDArray[Any] | None = None,
    index_base: int | None = None,
) -> Proof:
    """The proof of several results, with a statement where the problems are given and have one."""
    statement, arrays = stated(results, problems, classes, index_base) or (None, {})
    if statement is None:
        arrays = packed("witness", [result.witness or Witness() for result in results])
    proved = np.array([result.witness is not None for result in results], dtype=np.int64)
    header = _ProofHeader(fenchel.__version__, len(results), statement)
    return Proof(header, {"proved": proved, **arrays})


def read_proof(path: Path) -> list[Witness | None]:
    """The witnesses in a file, None where there was none; they prove what `verify` says."""
    header, arrays = container.read(path, _KIND, _ProofHeader)
    with container.naming(path):
        proved = take(arrays, "proved", np.int64, (header.runs,))
        try:
            stated = header.statement is not None
            witnesses = _duals(arrays, header.runs) if stated else unpacked("witness", arrays)
        except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise InvalidData(f"its arrays do not belong together: {error!r}") from error
        if len(witnesses) != header.runs:
            raise InvalidData(f"it has {len(witnesses)} witnesses for {header.runs} runs")
        pairs = zip(witnesses, proved.tolist(), strict=True)
        return [witness if there else None for witness, there in pairs]


def _duals(arrays: Arrays, runs: int) -> list[Witness]:
    """A line of dual variables for each run, a number a row; of one run, a line for each score."""
    alpha = arrays["alpha"]
    return [Witness(alpha=line) for line in (alpha.T.reshape(1, -1) if runs == 1 else alpha)]
