// svmlight text, fed piece by piece, to a matrix; and a matrix to svmlight text.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decimal.hpp"
#include "svmlight_lines.hpp"

namespace fenchel::svmlight {

/// Numbers that grow by realloc, which moves the pages of large blocks instead of copying them.
template <class T>
class Growing {
  public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(data_); }

    std::size_t size() const { return size_; }
    T* data() { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }

    /// Room for n more at the end.
    T* extend(std::size_t n) {
        if (size_ + n > capacity_) resize_block(std::max(size_ + n, capacity_ + capacity_ / 2));
        size_ += n;
        return data_ + size_ - n;
    }

    /// The numbers in a block of their size, for the caller to free().
    T* release() {
        resize_block(size_);
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }

  private:
    void resize_block(std::size_t capacity) {
        void* block = std::realloc(data_, std::max<std::size_t>(capacity, 1) * sizeof(T));
        if (!block) throw std::bad_alloc();
        data_ = static_cast<T*>(block);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// For every i < n, work(thread, i) in any order and then finish(thread, i) in order, in up to
/// n_threads threads with the calling one. The first exception is thrown when all are done.
template <class Work, class Finish>
void in_parallel(std::size_t n, std::size_t n_threads, const Work& work, const Finish& finish) {
    std::atomic<std::size_t> next = 0, turn = 0;
    std::exception_ptr error;  // touched by the thread whose turn it is
    const auto take = [&](std::size_t thread) {
        for (std::size_t i = next++; i < n; i = next++) {
            std::exception_ptr mine;
            try {
                work(thread, i);
            } catch (...) {
                mine = std::current_exception();
            }
            for (std::size_t t = turn; t != i; t = turn) turn.wait(t);
            try {
                if (!error && !mine) finish(thread, i);
            } catch (...) {
                mine = std::current_exception();
            }
            if (!error) error = mine;
            turn = i + 1;
            turn.notify_all();
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(std::min(n, n_threads));
    try {
        for (std::size_t k = 1; k < std::min(n, n_threads); ++k) helpers.emplace_back(take, k);
    } catch (const std::exception&) {
        // The system has no more threads; those there are do the same work.
    }
    take(0);
    for (std::thread& helper : helpers) helper.join();
    if (error) std::rethrow_exception(error);
}

/// A matrix in rows from text in pieces, which may be cut anywhere. What comes out depends neither
/// on the cuts nor on the number of threads. The first fault, in the order of lines, ends the work.
template <class Index>
class Parser {
  public:
    /// Work is shared out in chunks of about `chunk_bytes`, cut at line ends.
    Parser(const Rules& rules, std::size_t n_threads, std::size_t chunk_bytes)
        : rules_(rules),
          n_threads_(std::max<std::size_t>(n_threads, 1)),
          chunk_bytes_(std::max<std::size_t>(chunk_bytes, 1)) {
        *row_start.extend(1) = 0;
    }

    /// The next piece of the text; false once a line is at fault.
    bool feed(const char* text, std::size_t n_bytes) {
        const char* const end = text + n_bytes;
        if (!rest_.empty()) {
            const char* const line_end = after_line(text, end);
            rest_.append(text, line_end);
            if (rest_.back() != '\n') return !failed();
            consume(rest_.data(), rest_.data() + rest_.size());
            rest_.clear();
            text = line_end;
        }
        const char* last = end;
        while (last > text && last[-1] != '\n') --last;
        consume(text, last);
        rest_.append(last, end);
        return !failed();
    }

    /// Ends the text, with or without a final line end, and makes indices columns.
    bool finish() {
        if (!rest_.empty()) rest_ += '\n';
        consume(rest_.data(), rest_.data() + rest_.size());
        rest_.clear();
        if (zero_seen && rules_.base == 1) {
            for (Index& j : column) ++j;
            rules_.base = 0;
        }
        return !failed();
    }

    const Failure& failure() const { return failure_; }
    std::int64_t base() const { return rules_.base; }
    std::size_t n_pending() const { return rest_.size(); }  // bytes of a line that has not ended
    bool has_queries() const { return rules_.queries == Queries::present; }
    std::size_t n_bytes() const {
        return 8 * (label.size() + qid.size() + row_start.size() + value.size()) +
               sizeof(Index) * column.size();
    }

    Growing<double> label;
    Growing<std::int64_t> qid;
    Growing<std::int64_t> row_start;
    Growing<Index> column;
    Growing<double> value;
    bool zero_seen = false;
    std::int64_t highest = -1;  // the largest index, and where it stands
    Place highest_place;

  private:
    bool failed() const { return failure_.fault != Fault::none; }

    /// The place after the first line end, or `end`.
    static const char* after_line(const char* p, const char* end) {
        const char* found = std::find(p, end, '\n');
        return found == end ? end : found + 1;
    }

    /// Whole lines. Those up to the first row go first: it decides whether rows have a qid.
    void consume(const char* text, const char* end) {
        if (n_lines_ == 0 && end - text >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
            text += 3;
        }
        while (label.size() == 0 && text < end && !failed()) {
            const char* const next = after_line(text, end);
            cuts_ = {text, next};
            parse_chunks();
            text = next;
            if (label.size() > 0 && rules_.queries == Queries::undecided) {
                rules_.queries = chunks_[0].has_queries ? Queries::present : Queries::absent;
            }
        }
        if (text < end && !failed()) {
            cut(text, end);
            parse_chunks();
        }
    }

    void cut(const char* text, const char* end) {
        cuts_ = {text};
        while (text < end) {
            const bool last = static_cast<std::size_t>(end - text) <= chunk_bytes_;
            text = last ? end : after_line(text + chunk_bytes_ - 1, end);
            cuts_.push_back(text);
        }
    }

    void parse_chunks() {
        const std::size_t n = cuts_.size() - 1;
        if (chunks_.size() < std::min(n, n_threads_)) chunks_.resize(std::min(n, n_threads_));
        in_parallel(
            n, n_threads_,
            [&](std::size_t thread, std::size_t i) {
                LineParser<Index>(rules_, chunks_[thread]).parse(cuts_[i], cuts_[i + 1]);
            },
            [&](std::size_t thread, std::size_t) {
                if (!failed()) append(chunks_[thread]);
            });
    }

    void append(const Chunk<Index>& chunk) {
        check_runs(chunk);
        if (failed()) return;
        if (chunk.failure.fault != Fault::none) {
            fail(chunk.failure.fault, chunk.failure.place);
            return;
        }
        const auto offset = static_cast<std::int64_t>(value.size());
        std::copy_n(chunk.label.data(), chunk.n_rows, label.extend(chunk.n_rows));
        if (chunk.has_queries) {
            std::copy_n(chunk.qid.data(), chunk.n_rows, qid.extend(chunk.n_rows));
        }
        std::transform(chunk.row_end.data(), chunk.row_end.data() + chunk.n_rows,
                       row_start.extend(chunk.n_rows),
                       [offset](std::int64_t k) { return k + offset; });
        std::copy_n(chunk.column.data(), chunk.n_values, column.extend(chunk.n_values));
        std::copy_n(chunk.value.data(), chunk.n_values, value.extend(chunk.n_values));
        zero_seen |= chunk.zero_seen;
        if (chunk.highest > highest) {
            highest = chunk.highest;
            highest_place = in_file(chunk.highest_place);
        }
        n_lines_ += static_cast<std::int64_t>(chunk.n_lines);
    }

    /// The rows of a query stand together.
    void check_runs(const Chunk<Index>& chunk) {
        for (const Run& run : chunk.runs) {
            if (!seen_.empty() && run.qid == last_qid_) continue;
            last_qid_ = run.qid;
            if (!seen_.insert(run.qid).second) return fail(Fault::qid_scattered, run.place);
        }
    }

    void fail(Fault fault, const Place& place) { failure_ = {fault, in_file(place)}; }

    Place in_file(Place place) const {
        place.line += n_lines_;
        return place;
    }

    Rules rules_;
    std::size_t n_threads_;
    std::size_t chunk_bytes_;
    std::string rest_;  // the beginning of a line that has not ended yet
    std::int64_t n_lines_ = 0;
    std::vector<const char*> cuts_;
    std::vector<Chunk<Index>> chunks_;  // one for each thread
    std::unordered_set<std::int64_t> seen_;
    std::int64_t last_qid_ = 0;
    Failure failure_;
};

/// Rows of a matrix to be written, with their labels and, unless null, their qids.
template <class Index>
struct Lines {
    const double* label;
    const std::int64_t* qid;
    const std::int64_t* row_start;
    const Index* column;
    const double* value;
    std::int64_t base;
};

/// The lines of rows [first, last).
template <class Index>
std::string text(const Lines<Index>& rows, std::size_t first, std::size_t last) {
    constexpr std::size_t number = 32;  // more than the longest takes
    std::string out;
    std::vector<char> line;
    for (std::size_t i = first; i < last; ++i) {
        const auto n_values = static_cast<std::size_t>(rows.row_start[i + 1] - rows.row_start[i]);
        line.resize(2 * number + 2 * number * n_values);
        char* p = write_decimal(line.data(), rows.label[i]);
        if (rows.qid) {
            p = std::copy_n(" qid:", 5, p);
            p = std::to_chars(p, p + number, rows.qid[i]).ptr;
        }
        for (auto k = rows.row_start[i]; k < rows.row_start[i + 1]; ++k) {
            *p++ = ' ';
            p = std::to_chars(p, p + number, rows.column[k] + rows.base).ptr;
            *p++ = ':';
            p = write_decimal(p, rows.value[k]);
        }
        *p++ = '\n';
        out.append(line.data(), p);
    }
    return out;
}

}  // namespace fenchel::svmlight
