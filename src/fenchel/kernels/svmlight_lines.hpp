// Lines of svmlight text, `label [qid:number] index:value ... [# comment]`, to rows of a matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decimal.hpp"

namespace fenchel::svmlight {

/// What is wrong with a line; data/svmlight.py has the words.
enum class Fault {
    none,
    label_missing,
    label_not_a_number,
    several_labels,
    not_finite,
    colon_missing,
    index_not_a_number,
    index_negative,
    index_zero,
    index_too_large,
    index_repeated,
    value_missing,
    value_not_a_number,
    qid_not_a_number,
    qid_misplaced,
    qid_missing,
    qid_unexpected,
    qid_scattered,
};

/// A place in the text: line and column (in bytes) from 1, and the beginning of the token there.
struct Place {
    std::int64_t line = 0;
    std::int64_t column = 0;
    std::string token;
};

struct Failure {
    Fault fault = Fault::none;
    Place place;
};

enum class Queries { ignored, undecided, absent, present };

struct Rules {
    std::uint64_t least_index = 0;  // 1 where an index 0 is an error
    std::uint64_t largest_index = std::numeric_limits<std::int32_t>::max();
    std::int64_t base = 1;  // what is taken off an index to make it a column
    Queries queries = Queries::ignored;
};

/// Consecutive rows of one qid, and where the first of them says so.
struct Run {
    std::int64_t qid;
    Place place;
};

/// Room for numbers that are written before they are read, kept from one use to the next.
template <class T>
class Room {
  public:
    T* at_least(std::size_t n) {
        if (n > size_) {
            size_ = 0;
            data_.reset(new T[n]);  // not set to 0, as std::make_unique would
            size_ = n;
        }
        return data_.get();
    }
    const T* data() const { return data_.get(); }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t size_ = 0;
};

/// The rows of a piece of text; lines are counted from its beginning.
template <class Index>
struct Chunk {
    std::size_t n_lines = 0;
    std::size_t n_rows = 0;
    std::size_t n_values = 0;
    Room<double> label;
    Room<std::int64_t> qid;      // where they are present
    Room<std::int64_t> row_end;  // counted from the chunk's first value
    Room<Index> column;
    Room<double> value;
    std::vector<Run> runs;
    bool zero_seen = false;
    std::int64_t highest = -1;  // the largest index, and where it stands
    Place highest_place;
    bool has_queries = false;
    Failure failure;
};

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }
constexpr bool ends_line(char c) { return c == '\n' || c == '#'; }
constexpr bool ends_token(char c) { return is_blank(c) || ends_line(c); }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

inline const char* skip_token(const char* p) {
    while (!ends_token(*p)) ++p;
    return p;
}

inline bool is_finite(double x) { return std::abs(x) <= std::numeric_limits<double>::max(); }

/// Whether the token spells nan or inf, in full or with a sign, as float() would read it.
inline bool spells_no_number(const char* p) {
    if (*p == '-' || *p == '+') ++p;
    std::string word(p, skip_token(p));
    std::transform(word.begin(), word.end(), word.begin(), [](char c) { return c | 0x20; });
    return word == "nan" || word == "inf" || word == "infinity";
}

inline Fault number_fault(const char* token, Fault otherwise) {
    double value = 0;
    const char* end = decimal(token, value);
    const bool overflows = end && ends_token(*end) && !is_finite(value);
    return overflows || spells_no_number(token) ? Fault::not_finite : otherwise;
}

inline Fault label_fault(const char* token) {
    const char* end = skip_token(token);
    if (std::find(token, end, ':') != end) return Fault::label_missing;
    if (std::find(token, end, ',') != end) return Fault::several_labels;
    return number_fault(token, Fault::label_not_a_number);
}

inline Fault value_fault(const char* value) {
    return ends_token(*value) ? Fault::value_missing
                              : number_fault(value, Fault::value_not_a_number);
}

inline Fault index_fault(const char* token, const Rules& rules) {
    const char* colon = std::find(token, skip_token(token), ':');
    if (*colon != ':') return Fault::colon_missing;
    if (std::string(token, colon) == "qid") return Fault::qid_misplaced;
    const char* first = *token == '-' ? token + 1 : token;
    if (first == colon || !std::all_of(first, colon, is_digit)) return Fault::index_not_a_number;
    if (first != token) return Fault::index_negative;
    const bool zero = std::all_of(token, colon, [](char c) { return c == '0'; });
    return zero && rules.least_index > 0 ? Fault::index_zero : Fault::index_too_large;
}

/// Parses one piece of text into one chunk.
template <class Index>
class LineParser {
  public:
    LineParser(const Rules& rules, Chunk<Index>& out) : rules_(rules), out_(out) {}

    /// Whole lines, [text, end), the last one with its line end.
    void parse(const char* text, const char* end) {
        prepare(static_cast<std::size_t>(end - text));
        for (const char* p = text; p < end && out_.failure.fault == Fault::none; ++p) {
            line_ = p;
            ++out_.n_lines;
            p = skip_blanks(p);
            if (!ends_line(*p)) p = row(p);
            if (*p != '\n') p = static_cast<const char*>(std::memchr(p, '\n', end - p));
        }
    }

  private:
    void prepare(std::size_t n_bytes) {
        out_.n_lines = out_.n_rows = out_.n_values = 0;
        out_.runs.clear();
        out_.zero_seen = out_.has_queries = false;
        out_.highest = -1;
        out_.failure = {};
        const std::size_t most_rows = n_bytes / 2 + 1, most_values = n_bytes / 4 + 1;
        label_ = out_.label.at_least(most_rows);
        row_end_ = out_.row_end.at_least(most_rows);
        qid_ = rules_.queries == Queries::ignored ? nullptr : out_.qid.at_least(most_rows);
        column_ = out_.column.at_least(most_values);
        value_ = out_.value.at_least(most_values);
    }

    /// A row whose label is at p; returns a place before the line's end.
    const char* row(const char* p) {
        const char* const token = p;
        p = decimal(p, label_[out_.n_rows]);
        if (!p || !ends_token(*p) || !is_finite(label_[out_.n_rows])) {
            return fail(label_fault(token), token);
        }
        p = query(skip_blanks(p), token);
        if (out_.failure.fault != Fault::none) return p;
        return features(p);
    }

    /// The qid that may stand at p.
    const char* query(const char* p, const char* label) {
        const bool present = std::strncmp(p, "qid:", 4) == 0;
        if (!present) {
            return rules_.queries == Queries::present ? fail(Fault::qid_missing, label) : p;
        }
        std::int64_t qid = 0;
        const char* const end = skip_token(p);
        const auto [stop, error] = std::from_chars(p + 4, end, qid);
        if (stop != end || error != std::errc{}) return fail(Fault::qid_not_a_number, p);
        if (rules_.queries == Queries::absent) return fail(Fault::qid_unexpected, p);
        if (rules_.queries != Queries::ignored) {
            if (out_.runs.empty() || out_.runs.back().qid != qid) {
                out_.runs.push_back({qid, place(p)});
            }
            qid_[out_.n_rows] = qid;
            out_.has_queries = true;
        }
        return skip_blanks(end);
    }

    const char* features(const char* p) {
        const char* const first = p;
        const char* highest_token = nullptr;
        std::int64_t highest = -1;
        bool ascending = true;
        std::size_t k = out_.n_values;
        for (; !ends_line(*p); ++k) {
            const char* const token = p;
            std::uint64_t index = 0;
            p = digits(p, index);
            const bool plain = p > token && p - token <= 18 && *p == ':';
            if (!plain || index < rules_.least_index || index > rules_.largest_index) {
                return fail(index_fault(token, rules_), token);
            }
            const char* const value = ++p;
            p = decimal(p, value_[k]);
            if (!p || !ends_token(*p) || !is_finite(value_[k])) {
                return fail(value_fault(value), token);
            }
            const auto signed_index = static_cast<std::int64_t>(index);
            column_[k] = static_cast<Index>(signed_index - rules_.base);
            if (signed_index > highest) {
                highest = signed_index;
                highest_token = token;
            } else {
                ascending = false;
            }
            p = skip_blanks(p);
        }
        if (!ascending) {
            const std::size_t repeated = sort(k);
            if (repeated < k) return fail(Fault::index_repeated, feature(first, repeated));
        }
        finish_row(k, highest, highest_token);
        return p;
    }

    void finish_row(std::size_t end, std::int64_t highest, const char* highest_token) {
        if (end > out_.n_values) out_.zero_seen |= column_[out_.n_values] == -rules_.base;
        if (highest > out_.highest) {
            out_.highest = highest;
            out_.highest_place = place(highest_token);
        }
        out_.n_values = end;
        row_end_[out_.n_rows++] = static_cast<std::int64_t>(end);
    }

    /// Sorts the row that ends before `end`; the first value whose index came before, or `end`.
    std::size_t sort(std::size_t end) {
        const std::size_t begin = out_.n_values;
        order_.clear();
        for (std::size_t k = begin; k < end; ++k) order_.emplace_back(column_[k], k);
        std::sort(order_.begin(), order_.end());
        values_.assign(value_ + begin, value_ + end);
        std::size_t repeated = end;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const auto [column, k] = order_[i];
            if (i > 0 && order_[i - 1].first == column) repeated = std::min(repeated, k);
            column_[begin + i] = column;
            value_[begin + i] = values_[k - begin];
        }
        return repeated;
    }

    /// The token of value k of the row whose features begin at p.
    const char* feature(const char* p, std::size_t k) const {
        for (std::size_t i = out_.n_values; i < k; ++i) p = skip_blanks(skip_token(p));
        return p;
    }

    const char* fail(Fault fault, const char* token) {
        out_.failure = {fault, place(token)};
        return token;
    }

    Place place(const char* token) const {
        constexpr std::ptrdiff_t longest = 40;
        const std::ptrdiff_t length = skip_token(token) - token;
        std::string text(token, token + std::min(length, longest));
        if (length > longest) text += "...";
        return {static_cast<std::int64_t>(out_.n_lines), token - line_ + 1, std::move(text)};
    }

    const Rules& rules_;
    Chunk<Index>& out_;
    const char* line_ = nullptr;  // where the line begins
    double* label_ = nullptr;
    std::int64_t* qid_ = nullptr;
    std::int64_t* row_end_ = nullptr;
    Index* column_ = nullptr;
    double* value_ = nullptr;
    std::vector<std::pair<Index, std::size_t>> order_;
    std::vector<double> values_;
};

}  // namespace fenchel::svmlight
