#include "attention/batch_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/digit.h"

namespace hybridkv {

namespace {

constexpr std::int64_t kilo = 1024;

/// Reads a spec from left to right.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  BatchSpec parse() {
    BatchSpec batch;
    Checked requests = 0, tokens = 0;
    do {
      const std::size_t start = place_;
      batch.runs.push_back(parse_run());
      requests += batch.runs.back().count;
      tokens += Checked(batch.runs.back().count) * batch.runs.back().query_len_tokens;
      if (requests > max_batch_requests)
        fail(start, fmt::format("{} requests up to here, a batch has at most {}", std::int64_t{requests},
                                max_batch_requests));
      if (tokens > max_batch_tokens)
        fail(start, fmt::format("{} query tokens up to here, a batch has at most {}", std::int64_t{tokens},
                                max_batch_tokens));
    } while (accept('_'));
    if (place_ < text_.size())
      fail(place_, fmt::format("expected {}'_' before the next requests, or the end", may_continue_));
    return batch;
  }

 private:
  BatchRun parse_run() {
    BatchRun run;
    if (peek_digit()) run.count = parse_number(max_batch_requests, "requests");
    if (!accept('q')) fail(place_, "expected a number of requests or 'q' and their query length");
    run.query_len_tokens = parse_length("query tokens");
    may_continue_ = last_had_k_ ? "'s' and the sequence length, " : "'k', 's' and the sequence length, ";
    run.seq_len_tokens = run.query_len_tokens;
    if (accept('s')) {
      run.seq_len_tokens = parse_length("tokens of a sequence");
      may_continue_ = last_had_k_ ? "" : "'k', ";
    }
    return run;
  }

  std::int64_t parse_length(const char* unit) {
    const std::size_t start = place_;
    if (!peek_digit()) fail(place_, fmt::format("expected a number of {}", unit));
    const Checked length = parse_number(max_batch_tokens, unit);
    last_had_k_ = accept('k');
    if (!last_had_k_) return length;
    if (length * kilo > max_batch_tokens)
      fail(start, fmt::format("{}k {}, the limit is {}", std::int64_t{length}, unit, max_batch_tokens));
    return length * kilo;
  }

  /// A number from 1 to `limit`. Pre: a digit is next.
  std::int64_t parse_number(std::int64_t limit, const char* unit) {
    const std::size_t start = place_;
    std::int64_t number = 0;
    for (; peek_digit(); ++place_) {
      number = number * 10 + (text_[place_] - '0');
      if (number > limit) fail(start, fmt::format("too many {}, the limit is {}", unit, limit));
    }
    if (number == 0) fail(start, fmt::format("0 {}, at least 1 is needed", unit));
    return number;
  }

  bool peek_digit() const { return place_ < text_.size() && is_digit(text_[place_]); }
  bool accept(char c) {
    if (place_ >= text_.size() || text_[place_] != c) return false;
    ++place_;
    return true;
  }

  [[noreturn]] void fail(std::size_t place, const std::string& message) const {
    std::string shown(text_);
    std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    throw InputError(
        fmt::format("batch spec, column {}: {}\n  {}\n  {:>{}}", place + 1, message, shown, "^", place + 1));
  }

  std::string_view text_;
  std::size_t place_ = 0;
  bool last_had_k_ = false;
  const char* may_continue_ = "";  ///< what else may stand after the last run
};

std::string length_text(std::int64_t tokens) {
  return tokens % kilo == 0 ? fmt::format("{}k", tokens / kilo) : fmt::format("{}", tokens);
}

}  // namespace

std::int64_t BatchSpec::num_reqs() const {
  Checked requests = 0;
  for (const BatchRun& run : runs) requests += run.count;
  return requests;
}

std::int64_t BatchSpec::num_tokens() const {
  Checked tokens = 0;
  for (const BatchRun& run : runs) tokens += Checked(run.count) * run.query_len_tokens;
  return tokens;
}

std::vector<std::int64_t> BatchSpec::query_lens() const {
  std::vector<std::int64_t> lens;
  for (const BatchRun& run : runs) lens.insert(lens.end(), run.count, run.query_len_tokens);
  return lens;
}

std::vector<std::int64_t> BatchSpec::seq_lens() const {
  std::vector<std::int64_t> lens;
  for (const BatchRun& run : runs) lens.insert(lens.end(), run.count, run.seq_len_tokens);
  return lens;
}

BatchSpec parse_batch_spec(std::string_view text) { return Parser(text).parse(); }

std::string to_string(const BatchSpec& batch) {
  std::string text;
  for (const BatchRun& run : batch.runs) {
    if (!text.empty()) text += '_';
    if (run.count != 1) text += fmt::format("{}", run.count);
    text += 'q' + length_text(run.query_len_tokens);
    if (run.seq_len_tokens != run.query_len_tokens) text += 's' + length_text(run.seq_len_tokens);
  }
  return text;
}

}  // namespace hybridkv
