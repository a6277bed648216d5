// The maximum of lines on an interval ([Yu10] algorithm 4), for exact line searches.
//
// Which line is the highest is asked at the two ends only; the slopes found there are what the
// kinks in between add up to, so that round-off can never lose a kink or count it twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace fenchel {

/// A line through (low, value), low being the lower end of the interval.
struct Line {
    double value, slope;
};

/// Where the maximum passes from one line to a steeper one.
struct Corner {
    double eta;
    Line from, to;
};

/// The corners of max over `lines` in (low, high], in order, through `emit`. `first` is the
/// steepest of the highest lines at low; `last` the slope of the steepest of them at high.
///
/// Lines are sorted by slope, of parallel ones the highest first, and put on a stack from which a
/// new line removes those that it overtakes before they lead. Of the lines only those
/// steeper than `first` and not steeper than `last` can matter.
template <class Emit>
void envelope(std::vector<Line>& lines, Line first, double last, double low, double high,
              Emit&& emit) {
    const auto useless = [&](const Line& l) { return !(l.slope > first.slope && l.slope <= last); };
    lines.erase(std::remove_if(lines.begin(), lines.end(), useless), lines.end());
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return a.slope < b.slope || (a.slope == b.slope && a.value > b.value);
    });
    const auto meet = [](const Line& a, const Line& b) {
        return std::max(0.0, (a.value - b.value) / (b.slope - a.slope));  // measured from low
    };
    std::size_t top = 0;  // lines[0 .. top) is the stack, on `first`
    const auto under = [&](std::size_t k) -> const Line& { return k == 0 ? first : lines[k - 1]; };
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const Line line = lines[k];
        if (line.slope == under(top).slope) continue;
        while (top > 0 && meet(under(top), line) <= meet(under(top - 1), under(top))) --top;
        lines[top++] = line;
    }
    for (std::size_t k = 0; k < top; ++k) {
        const double eta = low + meet(under(k), lines[k]);
        emit(Corner{std::min(eta, high), under(k), lines[k]});
    }
}

}  // namespace fenchel
