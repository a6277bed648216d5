"""Sequence labelling: a label for each token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fenchel.data.checked import checked_weights
from fenchel.data.classes import Targets, checked_codes
from fenchel.data.rows import SparseRows
from fenchel.data.sequences import Pairs, Sequences
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.pairs import restored, stored
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.sequences import flat_labels, split, tokens_of
from fenchel.features.tokens import Hashed, Named, Numbered, Vocabulary
from fenchel.losses import CRF, M3N, ChainLoss, SoftM3N
from fenchel.losses.table import RESCALING
from fenchel.result import Result
from fenchel.risks.base import Array
from fenchel.risks.chains import ChainRisk
from fenchel.settings import construct, whole

CHAINS: dict[str, type[ChainLoss]] = {"crf": CRF, "m3n": M3N, "soft_m3n": SoftM3N}

Labels = list[list[Any]]


@declared
class SequenceLabeler(LinearEstimator):
    """Linear chains: labels for the tokens of sequences, to a certified gap.

    Minimises alpha * penalty(w) + mean over sequences of loss(w), the mean weighted by
    sample_weight. crfsuite's objective is the sum over n sequences: its c2 is alpha * n / 2 with
    penalty="l2", its c1 alpha * n with "l1".

    Parameters
    ----------
    loss : {"crf", "m3n", "soft_m3n"}, default="crf"
        The conditional log-likelihood; the max-margin Markov network; or its softened version.
    template : str, default=None
        With a template tokens are columns of text: "default", "words", or lines in the language of
        CRF++ (see fenchel.features.templates). Without, they are dicts of features as for
        sklearn-crfsuite, or lists of names; or a sequence is an array of numbers, NumPy's or
        SciPy's, with a row for each token and a column for each feature.
    min_count : int, default=1
        Features that occur less often in the training data are left out.
    hashed : int, default=None
        The columns that names of features are hashed to, in place of a vocabulary: the model then
        keeps no names, and those that meet in a column share its weights.
    pairs : {"observed", "all"}, default="observed"
        Which weights there are: for the pairs of features and labels, and of labels that follow
        each other, that occur in the training data; or for all.
    cost : float or array of shape (n_labels, n_labels), default=1.0
        For "m3n" and "soft_m3n": what a wrong label costs, or each in row k for the label in
        column l, labels being sorted.
    rescaling : {"margin", "slack"}, default="margin"
        For "m3n": the cost as part of the margin, or as a factor on what it is missed by.
    temperature : float, default=1.0
        For "soft_m3n", which comes close to "m3n" as it goes to 0.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "lbfgs", "owlqn" or "bmrm".
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : ndarray of shape (n_pairs,)
        The weights of `pairs_`; `state_features_` and `transition_features_` have them by name.
    pairs_ : fenchel.data.sequences.Pairs
        The pairs of features and labels, those of labels with the next last.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The features, the most frequent first; no names if they are hashed, or columns of numbers.
    hashed_ : int or None
        The columns that names were hashed to.
    temperature_ : float
        Of the loss that was minimised: 1 of "crf", and 0 of "m3n", which has no probabilities.
    intercept_ : float
        0: labels have no offsets of their own.

    Examples
    --------
    >>> from fenchel import SequenceLabeler
    >>> X = [["the dog barks".split(), "a cat sleeps".split()][k % 2] for k in range(6)]
    >>> y = [["D", "N", "V"]] * 6
    >>> model = SequenceLabeler(template="U:%x[0,0]", alpha=1e-2).fit(X, y)
    >>> model.predict([["the", "cat", "barks"]])
    [['D', 'N', 'V']]
    >>> model.result_.converged
    True
    """

    loss: str = "crf"
    template: str | None = None
    min_count: int = 1
    hashed: int | None = None
    pairs: str = "observed"
    cost: float | npt.ArrayLike = 1.0
    rescaling: str = "margin"
    temperature: float = 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        return tags

    def _loss(self) -> ChainLoss:
        settings = {"cost": self.cost, "rescaling": self.rescaling, "temperature": self.temperature}
        mine = {"crf": (), "m3n": ("cost", "rescaling"), "soft_m3n": ("cost", "temperature")}
        RESCALING.checked(self.rescaling)  # whatever the loss
        taken = {name: settings[name] for name in mine.get(str(self.loss), ())}
        return construct("loss", self.loss, CHAINS, {"pairs": self.pairs, **taken})

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Minimises the objective over sequences X with a list of labels for each in y.

        `sample_weight` says how often each sequence counts.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        tokens = tokens_of(X, self.template)
        labels = flat_labels(y, tokens.starts)
        codes, classes = checked_codes(labels, tokens.n_tokens)
        rows, names = self._columns(tokens)
        lengths = np.diff(tokens.starts)
        s = checked_weights(sample_weight, len(lengths), of="sequence")
        each = None if s is None else np.repeat(s, lengths)
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        (problem,) = settings.problems(rows, [Targets(codes, classes)], each, sequence)
        risk = problem.risk
        assert isinstance(risk, ChainRisk)
        self.n_features_in_, self.hashed_ = rows.n_columns, self.hashed
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

        def adopt(results: list[Result]) -> None:
            self.coef_, self.intercept_ = results[0].w, 0.0
            self.classes_, self.pairs_ = classes, risk.pairs
            self.temperature_ = temperature_of(risk.loss)

        return Posed(settings, [problem], self._starts((1, risk.n_parameters)), adopt)

    def _column_names(self, given: Sequence[str] | None) -> Sequence[str] | None:
        if given is not None and not hasattr(self, "feature_names_in_"):
            raise InvalidData(
                "features that are hashed, or columns of numbers, have no names: leave out "
                "feature_names"
            )
        return super()._column_names(given)

    def _state(self) -> State:
        temperature = np.array([self.temperature_], dtype=np.float64)
        return replace(super()._state(), more={**stored(self.pairs_), "temperature": temperature})

    def _restore(self, saved: Saved) -> None:
        named, self.hashed_ = hasattr(self, "feature_names_in_"), self.hashed
        if self.hashed is not None and (named or self.hashed != self.n_features_in_):
            raise InvalidData("its features are hashed, but have names, or other columns")
        self.classes_ = saved.classes()
        self.pairs_ = restored(saved, self.n_features_in_, len(self.classes_), named=named)
        self.temperature_ = self._restored_temperature(saved)
        self.coef_, self.intercept_ = self._restored_line(saved, len(self.pairs_.label))

    def _restored_temperature(self, saved: Saved) -> float:
        """That of the settings where a file does not have it, because it is new."""
        if "temperature" not in saved:
            return temperature_of(self._loss())
        temperature = float(saved.numbers("temperature", 1)[0])
        if temperature < 0:
            raise InvalidData("its temperature is < 0")
        return temperature

    def _columns(self, tokens: Named | Numbered) -> tuple[SparseRows, list[str] | None]:
        """Training data in columns, and the names of these if they have any."""
        min_count = whole("min_count", self.min_count, least=1)
        if isinstance(tokens, Numbered):
            if min_count > 1 or self.hashed is not None:
                raise Incompatible(
                    Setting("min_count"),
                    " and ",
                    Setting("hashed"),
                    " are for features with names: with arrays of numbers, leave them out",
                )
            return tokens.rows, None
        index = self._index(tokens, min_count)
        return index.rows(tokens), index.names if isinstance(index, Vocabulary) else None

    def _index(self, tokens: Named, min_count: int) -> Vocabulary | Hashed:
        """Where the features of training data are to be."""
        if self.hashed is not None:
            if min_count > 1:
                raise Incompatible(
                    Setting("min_count"),
                    " is for a vocabulary: with ",
                    Setting("hashed"),
                    ", leave it at 1",
                )
            return Hashed(whole("hashed", self.hashed, least=1))
        if not tokens.names:
            raise InvalidData("X has no features: all of its tokens are empty")
        vocabulary = Vocabulary.of(tokens, min_count)
        if not vocabulary.names:
            seldom = f"no feature occurs {min_count} times or more: lower "
            raise InvalidData(seldom, Setting("min_count"))
        return vocabulary

    def _sequences(self, X: Any) -> tuple[Sequences, Named | Numbered]:
        """X in the columns of the model."""
        check_is_fitted(self)
        tokens = tokens_of(X, self.template)
        rows = self._known(tokens)
        place = self.pairs_.places(rows.column)
        empty = np.zeros(rows.n_rows, dtype=np.int64)
        return Sequences(rows, empty, None, tokens.starts, self.pairs_, place), tokens

    def _known(self, tokens: Named | Numbered) -> SparseRows:
        """Tokens in the columns of the model, without those that have no weights."""
        names = getattr(self, "feature_names_in_", None)
        used = np.diff(self.pairs_.start[: self.n_features_in_ + 1]) > 0
        if isinstance(tokens, Named) and names is not None:
            return Vocabulary(names.tolist()).rows(tokens)
        if isinstance(tokens, Named) and self.hashed_ is not None:
            return Hashed(len(used), used).rows(tokens)
        if isinstance(tokens, Named):
            raise InvalidData(f"the model takes arrays of {len(used)} numbers for each token")
        if names is not None or self.hashed_ is not None:
            raise InvalidData("X holds arrays of numbers, but the model takes features with names")
        if tokens.rows.n_columns != len(used):
            raise InvalidData(
                f"sequence 0 has {tokens.rows.n_columns} columns, but the model was fitted to "
                f"{len(used)}"
            )
        return tokens.using(used)

    def predict(self, X: Any, *, forbidden: Iterable[tuple[Any, Any]] | None = None) -> Labels:
        """The best labels of each sequence, without the transitions (label, next) forbidden."""
        _, labels, starts = self._best(X, 1, forbidden)
        return split(self.classes_[labels[0]], starts)

    def predict_best(
        self, X: Any, k: int, *, forbidden: Iterable[tuple[Any, Any]] | None = None
    ) -> list[list[tuple[list[Any], float]]]:
        """The k best labellings of each sequence and their scores, best first.

        Sequences with fewer labellings than k have fewer.
        """
        scores, labels, starts = self._best(X, whole("k", k, least=1), forbidden)
        each = [split(self.classes_[row], starts) for row in labels]
        return [
            [
                (each[rank][i], float(score))
                for rank, score in enumerate(scores[i])
                if score > -np.inf
            ]
            for i in range(len(scores))
        ]

    def _best(
        self, X: Any, k: int, forbidden: Iterable[tuple[Any, Any]] | None
    ) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        sequences, tokens = self._sequences(X)
        scores = np.empty((sequences.n_sequences, k))
        labels = np.zeros((k, tokens.n_tokens), dtype=np.int64)
        extra = None if forbidden is None else self._forbidding(forbidden)
        sequences.chains.best(self.coef_, extra, scores, labels)
        if not np.isfinite(scores[:, 0]).all():
            i = int(np.argmin(np.isfinite(scores[:, 0])))
            raise InvalidData(f"all labellings of sequence {i} are forbidden")
        return scores, labels, tokens.starts

    def _forbidding(self, forbidden: Iterable[tuple[Any, Any]]) -> Array:
        known = self.classes_.tolist()
        extra = np.zeros((len(known), len(known)))
        for pair in forbidden:
            listed = isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str)
            if not listed or len(pair) != 2 or any(label not in known for label in pair):
                raise InvalidData(
                    f"forbidden has {pair!r}, which is no pair of labels of the model"
                )
            before, after = map(known.index, pair)
            extra[before, after] = -np.inf
        return extra

    def predict_marginals(self, X: Any) -> list[Array]:
        """The probability of each label at each token, an array (n_tokens, n_labels) a sequence.

        A labelling has a probability in proportion to exp(score), or exp(score / temperature) of
        "soft_m3n". The scores of "m3n" are no log-probabilities.
        """
        check_is_fitted(self)
        if self.temperature_ == 0:
            raise Incompatible(
                "loss='m3n' knows which labellings are best but no probabilities: use 'crf' or "
                "'soft_m3n'"
            )
        sequences, tokens = self._sequences(X)
        out = np.empty((tokens.n_tokens, len(self.classes_)))
        sequences.chains.marginals(self.coef_ / self.temperature_, out)
        return np.split(out, tokens.starts[1:-1])

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right label."""
        predicted = self.predict(X)
        starts = np.cumsum([0, *map(len, predicted)])
        right = flat_labels(y, starts) == np.concatenate([np.asarray(part) for part in predicted])
        return float(np.mean(right))

    @property
    def state_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of pairs of a feature, or its column where it has no name, and a label."""
        pairs, n = self._pairs(), self._pairs().n_states
        labels = self.classes_[pairs.label[:n]].tolist()
        features = pairs.feature[:n]
        given = getattr(self, "feature_names_in_", None)
        names = (features if given is None else given[features]).tolist()
        return dict(zip(zip(names, labels, strict=True), self.coef_[:n].tolist(), strict=True))

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of pairs of a label and the next."""
        pairs, n = self._pairs(), self._pairs().n_states
        before = self.classes_[pairs.feature[n:] - pairs.n_features].tolist()
        after = self.classes_[pairs.label[n:]].tolist()
        return dict(zip(zip(before, after, strict=True), self.coef_[n:].tolist(), strict=True))

    def _pairs(self) -> Pairs:
        check_is_fitted(self)
        return self.pairs_


def temperature_of(loss: ChainLoss) -> float:
    """What scores are to be divided by to be log-probabilities; 0 where they never are."""
    if isinstance(loss, M3N):
        return 0.0
    return loss.temperature if isinstance(loss, SoftM3N) else 1.0
