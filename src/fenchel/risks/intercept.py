"""The best intercept at given scores, with a proof that does not rest on how well it was found.

The intercept b has no penalty, so it can be minimised out of the risk at every w: R(w) is the
minimum over b of L(b) = sum l(z + b), for the scores z = X w. Solvers then see a function of w
alone. As L is convex in one variable, a bracket finds b; each trial reads the scores and costs no
pass over X.

Let below <= above enclose a minimiser, with slopes g_below <= 0 <= g_above of L. The two tangents
at (w, below) and (w, above), mixed with weight t on the first so that t g_below + (1 - t) g_above
= 0, no longer depend on b: the mix is a cut for R itself, valid for every w whatever the bracket,
and the mixed slopes are a subgradient of R up to the bracket's width. So the certificate never
relies on how well b was found, and one construction serves smooth, kinked and user-written losses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from fenchel.tolerances import FEW_OPERATIONS, OFFSET_BLUR, OFFSET_CUT
from fenchel.witness import Bracket

_WIDEST = 2.0**400


class OffsetTrial(NamedTuple):
    """L at one offset."""

    b: float
    value: float
    slope: float


class Offset(NamedTuple):
    """The best offset, with the bracket that proves it."""

    bracket: Bracket
    best: float  # the best offset tried
    value: float  # L(best): an upper bound of R(w)
    floor: float  # the mixed cut at w: a lower bound of R(w), equal up to round-off


def profile(
    sums: Callable[[float], tuple[float, float]], start: float, resolution: float, smooth: bool
) -> Offset:
    """Minimises the convex L over the offset; `sums(b)` gives (L(b), a slope of L at b).

    Where L has kinks (not `smooth`), the bracket's ends are kept `resolution` away from them, so
    that scores that differ by round-off, as in `verify`, are on the same side of every kink.
    """

    def trial(b: float) -> OffsetTrial:
        return OffsetTrial(b, *sums(b))

    below, above = _bracket(trial, start, resolution)
    below, above = _narrowed(trial, below, above, resolution, smooth)
    best = _better(below, above)
    offset = _mix(below, above) if smooth else _off_kinks(trial, below, above, resolution)
    return offset._replace(best=best.b, value=best.value, floor=min(offset.floor, best.value))


def around(
    sums: Callable[[float], tuple[float, float]], kink: float, width: float
) -> Offset | None:
    """The same with a bracket of a kink at which L is known to be least; None if it is not."""
    below, above = (OffsetTrial(b, *sums(b)) for b in (kink - width, kink + width))
    return _mix(below, above) if below.slope <= 0 <= above.slope else None


def _off_kinks(
    trial: Callable[[float], OffsetTrial], below: OffsetTrial, above: OffsetTrial, resolution: float
) -> Offset:
    """The mix with both ends moved off the kinks they may lie on.

    An end's tangent belongs to one side of its kink, and only on that side does it stay the same;
    which one is found by trying, the outer sides first.
    """
    width, offset = _finest(below, above, resolution), _mix(below, above)
    enough = offset.floor - OFFSET_CUT * abs(offset.floor)
    moved = functools.cache(trial)  # an end may be moved to the same place twice
    tried = []
    for sides in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        left, right = moved(below.b - sides[0] * width), moved(above.b + sides[1] * width)
        if left.slope <= 0 <= right.slope and left.b <= right.b:
            tried.append(_mix(left, right))
            if tried[-1].floor >= enough:
                break
    return max(tried, key=lambda mix: mix.floor, default=offset)


def _bracket(
    trial: Callable[[float], OffsetTrial], start: float, resolution: float
) -> tuple[OffsetTrial, OffsetTrial]:
    """Two offsets with slopes <= 0 and >= 0, found by growing steps from `start`."""
    here = trial(start)
    if here.slope == 0 or math.isnan(here.slope):  # nan: scores so large that l is inf both ways
        return here, here
    # A loss has slopes and curvatures of order 1, so the minimiser is about a slope away.
    step = -math.copysign(max(2 * min(abs(here.slope), 1.0), resolution), here.slope)
    while abs(step) < _WIDEST:
        there = trial(here.b + step)
        if there.slope == 0:
            return there, there
        if (there.slope > 0) != (here.slope > 0):
            return (here, there) if here.slope < 0 else (there, here)
        # Twice as far as the slope would vanish were it linear, within limits.
        fall = 1 - there.slope / here.slope
        here, step = there, step * (min(max(2 * (1 - fall) / fall, 1.0), 4.0) if fall > 0 else 4.0)
    # L falls for ever, or the scores are out of range
    nowhere = OffsetTrial(start, math.nan, math.nan)
    return nowhere, nowhere


def _narrowed(
    trial: Callable[[float], OffsetTrial],
    below: OffsetTrial,
    above: OffsetTrial,
    resolution: float,
    smooth: bool,
) -> tuple[OffsetTrial, OffsetTrial]:
    """Shrinks a bracket to the resolution, or until its tangents leave nothing to gain.

    Where the slope jumps, the next trial is where the tangents meet, or the middle after one that
    did not halve the bracket. Of a smooth L it is where the line through the slopes of the last two
    trials vanishes, or the middle after one that did not halve the slope.
    """
    halving = False
    before, last = (below, above) if abs(above.slope) <= abs(below.slope) else (above, below)
    while (width := above.b - below.b) > _finest(below, above, resolution):
        offset = _mix(below, above)
        if offset.value - offset.floor <= OFFSET_CUT * abs(offset.value):
            break
        middle, b = (
            0.5 * (below.b + above.b),
            _secant(before, last) if smooth else _crossing(below, above),
        )
        here = trial(middle if halving or not below.b < b < above.b else b)
        if here.slope == 0:
            return here, here
        below, above = (here, above) if here.slope < 0 else (below, here)
        slow = (
            abs(here.slope) > 0.5 * abs(last.slope) if smooth else above.b - below.b > 0.5 * width
        )
        halving, before, last = slow and not halving, last, here
    return below, above


def _finest(below: OffsetTrial, above: OffsetTrial, resolution: float) -> float:
    """The least distance of offsets that round-off does not blur."""
    return max(resolution, OFFSET_BLUR * max(abs(below.b), abs(above.b)))


def _crossing(below: OffsetTrial, above: OffsetTrial) -> float:
    """Where the two tangents meet: the minimiser if L bends once in between."""
    rise = above.slope * (above.b - below.b)
    return below.b + (below.value - above.value + rise) / (above.slope - below.slope)


def _secant(before: OffsetTrial, last: OffsetTrial) -> float:
    """Where the slope vanishes if it is linear; nan where two trials do not tell."""
    if before.slope == last.slope:
        return math.nan
    return last.b - last.slope * (last.b - before.b) / (last.slope - before.slope)


def _mix(below: OffsetTrial, above: OffsetTrial) -> Offset:
    """The mean of two tangents whose slopes in b cancel; one of them if it is flat."""
    for flat in (below, above):
        if flat.slope == 0 or below.b == above.b:
            return Offset(Bracket(flat.b, flat.b), flat.b, flat.value, flat.value)
    best = _better(below, above)
    rise = above.slope - below.slope
    weights = above.slope / rise, -below.slope / rise
    # The tangents at `best`, so that no large offset cancels.
    at_below = below.value + below.slope * (best.b - below.b)
    at_above = above.value + above.slope * (best.b - above.b)
    floor = weights[0] * at_below + weights[1] * at_above
    lost = weights[0] * (abs(below.value) + abs(at_below - below.value))
    lost += weights[1] * (abs(above.value) + abs(at_above - above.value))
    floor -= FEW_OPERATIONS * lost
    return Offset(Bracket(below.b, above.b, *weights), best.b, best.value, min(floor, best.value))


def _better(below: OffsetTrial, above: OffsetTrial) -> OffsetTrial:
    return below if below.value <= above.value else above
