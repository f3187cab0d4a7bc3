#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// What a start-up log of an engine says of its cache. Source: the log lines of vLLM 0.10 to 0.33.
enum class LogKey {
  version,
  model,
  max_model_len,
  tensor_parallel,
  pipeline_parallel,
  decode_context_parallel,
  dtype,
  kv_dtype,
  ssm_dtype,
  cache_mode,
  prefix_caching,
  speculative_tokens,
  draft_method,
  attention_pack_size,
  user_block_size,
  max_num_batched_tokens,
  max_num_seqs,
  layout,
  gdn_prefill,
  block_size,
  padding_percent,
  memory_gib,
  num_blocks,
  state_blocks,
  kv_cache_tokens,
  concurrency_length,
  concurrency,
};

/// In the order of the enumeration, as JSON calls them.
inline constexpr auto log_key_names = std::to_array<Named<LogKey>>(
    {{LogKey::version, "version"},
     {LogKey::model, "model"},
     {LogKey::max_model_len, "max_model_len"},
     {LogKey::tensor_parallel, "tensor_parallel"},
     {LogKey::pipeline_parallel, "pipeline_parallel"},
     {LogKey::decode_context_parallel, "decode_context_parallel"},
     {LogKey::dtype, "dtype"},
     {LogKey::kv_dtype, "kv_dtype"},
     {LogKey::ssm_dtype, "ssm_dtype"},
     {LogKey::cache_mode, "cache_mode"},
     {LogKey::prefix_caching, "prefix_caching"},
     {LogKey::speculative_tokens, "speculative_tokens"},
     {LogKey::draft_method, "draft_method"},
     {LogKey::attention_pack_size, "attention_pack_size"},
     {LogKey::user_block_size, "user_block_size"},
     {LogKey::max_num_batched_tokens, "max_num_batched_tokens"},
     {LogKey::max_num_seqs, "max_num_seqs"},
     {LogKey::layout, "layout"},
     {LogKey::gdn_prefill, "gdn_prefill"},
     {LogKey::block_size, "block_size"},
     {LogKey::padding_percent, "padding_percent"},
     {LogKey::memory_gib, "available_memory_gib"},
     {LogKey::num_blocks, "num_blocks"},
     {LogKey::state_blocks, "state_blocks"},
     {LogKey::kv_cache_tokens, "kv_cache_tokens"},
     {LogKey::concurrency_length, "concurrency_length"},
     {LogKey::concurrency, "max_concurrency"}});
inline constexpr auto all_log_keys = values_of(log_key_names);

constexpr std::string_view to_string(LogKey key) { return name_in(log_key_names, key); }

/// Numbers that the engine computes from the cache itself, which rules have to explain; the other keys are settings.
inline constexpr std::array log_figures{LogKey::block_size, LogKey::padding_percent, LogKey::memory_gib,
                                        LogKey::num_blocks, LogKey::state_blocks,    LogKey::kv_cache_tokens,
                                        LogKey::concurrency};

/// One value as it was printed.
struct LogValue {
  std::string text;       ///< digits without separators, or a word
  std::int64_t line = 0;  ///< of the log, from 1
  bool operator==(const LogValue&) const = default;
};

/// What was found in a log; of a value that several starts printed that of the last one.
struct StartupLog {
  std::array<std::optional<LogValue>, log_key_names.size()> values;
  std::vector<std::string> models;         ///< every name of a model, in the order of the log, each once
  bool blocks_overridden = false;          ///< the number of blocks is the user's: memory says nothing of it
  std::vector<std::string> disagreements;  ///< figures that one start printed twice and differently, a sentence each
  std::int64_t lines = 0;                  ///< number of the last line that was not empty
  std::int64_t bytes = 0;

  const std::optional<LogValue>& find(LogKey key) const { return values[static_cast<std::size_t>(key)]; }
  std::optional<LogValue>& find(LogKey key) { return values[static_cast<std::size_t>(key)]; }
  /// The value as a whole number; nothing where it was not found.
  std::optional<std::int64_t> whole(LogKey key) const;
  /// Is there a number that rules have to explain?
  bool has_figure() const;
};

/// Takes a log line by line, whatever stands around the lines: time stamps, colours, names of processes.
class StartupLogReader {
 public:
  /// A line, or the first part of a very long one; `number`: in the log, from 1.
  void add(std::string_view line, std::int64_t number);
  StartupLog finish() { return std::move(log_); }

 private:
  void read_settings(std::string_view line);
  void read_figures(std::string_view line);
  void keep(LogKey key, std::string text);

  StartupLog log_;
  std::array<std::int64_t, log_key_names.size()> start_of_{};  // the start in which a value was printed
  std::int64_t start_ = 0;
};

/// Reads a log from a file, plain or compressed, or from standard input ("-"). Throws InputError where it cannot
/// be read.
StartupLog read_startup_log(const std::string& path);

}  // namespace hybridkv
