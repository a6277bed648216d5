"""Every tolerance that stands for round-off, ties or contradictions, with its derivation.

Each is relative; what to is said with it. Numbers that steer an algorithm, such as how exactly an
inner problem is solved, stay with their algorithm. In the order of their size:
"""

from __future__ import annotations

import sys

# The distance from 1 to the next number: one operation is off by half of it, relative to its
# result.
EPSILON = sys.float_info.epsilon

# Of a value that few operations lead to: nine roundings. Two values of J along a line search that
# are as close as this are equal, and a sum of two cuts may have lost as much of its terms.
FEW_OPERATIONS = 1e-15

# Of the intercept's cut, which is a mean of two tangents, below the least mean loss: 45 units, a
# tenth and less of what any certificate is asked for. More tangents would not bring them closer.
OFFSET_CUT = 1e-14

# Of a sum over all rows of slopes that cancel exactly, relative to their magnitudes: it is 0.
# Slopes of a multivariate loss are few different numbers, so their sums err less than others.
FLAT = 1e-14

# Of a norm of a group's dual variables, relative to it, at the edge of the dual ball: 45 units. A
# dual point outside by no more has one inside so near that what `Problem.bound` takes off for the
# round-off of its terms makes up for the difference.
GROUP_NORM = 1e-14

# Of a sum over rows, relative to its terms' magnitudes: 90 units. Roundings have random signs, so
# a sum of n terms is off by about half sqrt(n) units; kernels add up to some 10^4 terms in a row,
# and sums of shards as a tree, which adds log2 of their number. `Problem.bound` takes this off.
ROUND_OFF = 2e-14

# Of the same norm when it is verified, where its squares are added up in another order: ten times
# `GROUP_NORM`.
VERIFIED_NORM = 1e-13

# Of scores, relative to the length of row and w: 450 units. A step along a ray adds a unit or
# so to what was off before; scores are computed anew when they have drifted by this much, so a
# mean loss that is recomputed from the data may differ by as much of its scores.
SCORES = 1e-13

# Of a sum of dual variables, slopes or shares that ought to be 0 or 1, relative to its terms: 4500
# units, for terms that are themselves results of a few hundred operations (an exponential sum, a
# mixture of cuts). The product of two such is off by the square.
ZERO_SUM = 1e-12

# Of an intercept, relative to the scores (or to itself): offsets that are closer cannot be told
# apart by losses of scores that are off by `SCORES`, with ten times that to spare.
OFFSET_BLUR = 1e-12

# Of a difference of squares, mean(x^2) - mean(x)^2, relative to the first: both are sums over rows,
# off by `ROUND_OFF`, so that a variance below fifty times that is unknown.
VARIANCE = 1e-12

# Of a matrix that a user gives, relative to its largest entry or eigenvalue: it may be so far from
# its transpose, as results of other programs are, and a smaller eigenvalue is 0.
MATRIX = 1e-12

# Of a factor that puts a point on the edge of a domain: so much less, it is inside after rounding.
INSIDE = 1e-12

# Of a score and 1: a kink (or threshold) that is closer may be on either side once the score is
# computed anew, by another kernel or from another point; a hundred times `SCORES`.
TIE = 1e-11

# Of a sum that a witness says is 0, or of a weight at the edge of its domain, when it is verified:
# a hundred times `ZERO_SUM` by which solvers abide, and far below what a false claim would gain.
VERIFIED_ZERO = 1e-10

# Of a score and 1: how far from a kink a witness may choose the slope of a row; ten times `TIE`.
VERIFIED_KINK = 1e-10

# Of a w at the edge of a regulariser's domain, relative to its size (a simplex, a ball): w may have
# been written to a file and read again, or scaled; a hundred times `ZERO_SUM`.
DOMAIN_EDGE = 1e-10

# Of dual variables outside the range of a singular matrix, relative to them: eigenvectors of
# eigenvalues near `MATRIX` are known to `EPSILON / MATRIX`, 2e-4, in directions that carry as
# little as `MATRIX` itself; what is left over, 2e-16, counts for up to 10^5 outputs.
OUTSIDE_RANGE = 1e-10

# Of a user's own sums, an oracle's loss say, relative to the terms: they may add up millions of
# numbers one after another.
USERS_SUMS = 1e-9

# Of R(w), below which the round-off of scores in a tangent's constant is left as it is, charged to
# the bound: a thousandth of the least gap that is asked for in earnest, 1e-6. Above it the constant
# is computed from the conjugate, which needs no scores and costs a sum over the rows.
COARSE = 1e-9

# Of R, by how much two computations of one bound may differ, the solver's and the verification's,
# where the losses are structured, of all rows at once or others': nobody bounds their round-off. Of
# losses of single rows it is bounded by what errors of the scores do (verification/row_data.py).
AGREEMENT = 1e-9

# Of the largest diagonal entry of a kernel matrix: a residual so far below 0 is no round-off, as
# products of features in single precision, 6e-8 each, average out over them.
INDEFINITE = 1e-8

# Of J, the gap of a drop-in estimator that stalled which is no reason for a warning: the digits
# that are left are those of round-off, and coefficients are known to about its root, 1e-4, which
# is the tolerance that scikit-learn's classes have when none is given.
STALLED = 1e-8

# Of the terms of J: a lower bound that is above J by more refutes the claim that the loss is
# convex. Our own arithmetic explains no more than `ROUND_OFF`, which bounds are reduced by anyway;
# but a user's loss or oracle may compute in single precision, 6e-8 an operation: 16 of these.
# Smaller contradictions are no error, but widen the gap (`minimisation.py`).
CONTRADICTION = 1e-6
