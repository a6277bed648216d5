// libFuzzer target: the svmlight parser on any bytes, cut anywhere. One thread: libFuzzer's own
// tables do not bear two (tests/data/test_svmlight.py has the threads).
//
// The first three bytes choose the rules, the pieces and the chunks; the rest is the text. However
// it is cut, the outcome is the same; what is accepted is a sound matrix, and survives being
// written and read again.
#include "../src/fenchel/kernels/svmlight.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

using namespace fenchel::svmlight;
using P = Parser<std::int32_t>;

namespace {

void must(bool holds) {
    if (!holds) __builtin_trap();
}

void parse(P& parser, const char* text, std::size_t n_bytes, std::size_t piece) {
    for (std::size_t i = 0; i < n_bytes; i += piece) {
        const std::size_t n = std::min(piece, n_bytes - i);
        const auto alone = std::make_unique<char[]>(n);  // so that ASan sees where it ends
        std::memcpy(alone.get(), text + i, n);
        if (!parser.feed(alone.get(), n)) return;
    }
    parser.finish();
}

template <class T>
void must_equal(Growing<T>& a, Growing<T>& b) {
    must(a.size() == b.size());
    must(a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void must_equal_matrix(P& a, P& b) {
    must_equal(a.label, b.label);
    must_equal(a.qid, b.qid);
    must_equal(a.row_start, b.row_start);
    must_equal(a.column, b.column);
    must_equal(a.value, b.value);
    must(a.highest == b.highest);
}

void must_agree(P& a, P& b) {
    must(a.failure().fault == b.failure().fault);
    must(a.failure().place.line == b.failure().place.line);
    must(a.failure().place.column == b.failure().place.column);
    must(a.failure().place.token == b.failure().place.token);
    if (a.failure().fault == Fault::none) {
        must_equal_matrix(a, b);
        must(a.base() == b.base() && a.has_queries() == b.has_queries());
        must(a.highest_place.line == b.highest_place.line);
        must(a.highest_place.column == b.highest_place.column);
    }
}

void must_be_sound(P& p) {
    must(p.row_start.size() == p.label.size() + 1 && p.row_start.data()[0] == 0);
    must(p.column.size() == p.value.size());
    must(!p.has_queries() || p.qid.size() == p.label.size());
    must(p.row_start.end()[-1] == static_cast<std::int64_t>(p.value.size()));
    for (double x : p.value) must(is_finite(x));
    for (double y : p.label) must(is_finite(y));
    for (std::size_t i = 0; i < p.label.size(); ++i) {
        std::int64_t last = -1;
        for (auto k = p.row_start.data()[i]; k < p.row_start.data()[i + 1]; ++k) {
            must(p.column.data()[k] > last && p.column.data()[k] <= p.highest - p.base());
            last = p.column.data()[k];
        }
    }
}

void must_survive_writing(P& p, Rules rules) {
    const Lines<std::int32_t> rows{p.label.data(),     p.has_queries() ? p.qid.data() : nullptr,
                                   p.row_start.data(), p.column.data(),
                                   p.value.data(),     p.base()};
    const std::string written = text(rows, 0, p.label.size());
    rules.base = p.base();
    rules.least_index = static_cast<std::uint64_t>(p.base());
    P again(rules, 1, 1 << 18);
    parse(again, written.data(), written.size(), written.size() + 1);
    must(again.failure().fault == Fault::none);
    must_equal_matrix(p, again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const char* const text = reinterpret_cast<const char*>(data + 3);
    const std::size_t n_bytes = size - 3;
    Rules rules;
    rules.base = (data[0] & 1) ? 0 : 1;
    rules.least_index = (data[0] & 3) == 2 ? 1 : 0;
    rules.queries = (data[0] & 4) ? Queries::undecided : Queries::ignored;
    P whole(rules, 1, 1 << 18);
    parse(whole, text, n_bytes, n_bytes + 1);
    P cut(rules, 1, std::size_t{1} + data[1]);
    parse(cut, text, n_bytes, std::size_t{1} + data[2]);
    must_agree(whole, cut);
    if (whole.failure().fault == Fault::none) {
        must_be_sound(whole);
        must_survive_writing(whole, rules);
    }
    return 0;
}
