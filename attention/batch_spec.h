#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// Requests of a batch with the same lengths, one after the other.
struct BatchRun {
  std::int64_t count = 1;             ///< requests, >= 1
  std::int64_t query_len_tokens = 1;  ///< query tokens of each, >= 1
  std::int64_t seq_len_tokens = 1;    ///< context plus query tokens of each, >= 1; may be shorter than the query
  bool operator==(const BatchRun&) const = default;
};

/// The lengths of the requests of a batch; what a batch is asked for by.
struct BatchSpec {
  std::vector<BatchRun> runs;
  bool operator==(const BatchSpec&) const = default;

  std::int64_t num_reqs() const;
  std::int64_t num_tokens() const;                ///< query tokens of all requests
  std::vector<std::int64_t> query_lens() const;  ///< (num_reqs), as make_metadata takes them
  std::vector<std::int64_t> seq_lens() const;    ///< (num_reqs)
};

/// Largest batch and largest length that a text may ask for; query tokens of a batch stay within the length too.
inline constexpr std::int64_t max_batch_requests = std::int64_t{1} << 20, max_batch_tokens = std::int64_t{1} << 40;

/// Reads `<count>q<length>[k][s<length>[k]]`, several of them joined by `_`: count requests (one where it is left
/// out) with that many query tokens in a sequence of s tokens (as long as the query without s); k stands for 1024.
/// Throws InputError with the text, a caret below the place, and what was expected there or which limit is exceeded.
/// Source: the batch grammar of vLLM's attention benchmarks.
/// Example: "2q1k_32q1s1k" are two prefills of 1024 tokens and 32 decodes at 1024 tokens.
BatchSpec parse_batch_spec(std::string_view text);

/// The shortest text that `parse_batch_spec` reads as this batch, run by run.
std::string to_string(const BatchSpec& batch);

}  // namespace hybridkv
