#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/named_values.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// How a trace writes its requests: JSON objects, one a line. Fields and their meaning: docs/traces.md.
enum class TraceForm {
  mooncake,    ///< timestamp in ms, input_length, output_length, hash_ids: one id per 512 tokens
  qwen,        ///< Qwen-Bailian: timestamp in s, chat_id, parent_chat_id, turn, and one id per 16 tokens
  blocks,      ///< block_size, hash_ids, input_length: one id per block_size tokens
  tokens,      ///< session_id, turn_id, ts, and the token ids themselves
  lookups,     ///< what a cache was asked for: chunk_size, seq_len and a hash per chunk
  agentic,     ///< a session an object: block_size, hash_id_scope, requests with sub-agents among them
  agentic_v2,  ///< a header, then a request a line with what it waits for
};
inline constexpr auto trace_form_names = std::to_array<Named<TraceForm>>(
    {{TraceForm::mooncake, "mooncake"},
     {TraceForm::qwen, "qwen"},
     {TraceForm::blocks, "blocks"},
     {TraceForm::tokens, "tokens"},
     {TraceForm::lookups, "lookups"},
     {TraceForm::agentic, "agentic"},
     {TraceForm::agentic_v2, "agentic_v2"}});

constexpr std::string_view to_string(TraceForm value) { return name_in(trace_form_names, value); }
constexpr std::optional<TraceForm> parse_trace_form(std::string_view name) { return value_in(trace_form_names, name); }

/// Tokens that one hash of a `tokens` trace stands for: prompts are compared in blocks of so many.
inline constexpr std::int64_t hashed_tokens = 16;

/// A trace file as the user names it.
struct TraceFileSpec {
  std::string path;                         ///< "-": standard input
  std::optional<TraceForm> form;            ///< default: by the fields of the first line
  bool skip_bad_lines = false;              ///< count damaged lines instead of stopping at the first
  std::optional<std::int64_t> max_requests; ///< read only the first ones
};

/// Reads a trace file request by request. Memory does not grow with the file, except for agentic ones, whose requests
/// are put in order of time first: those take 16 bytes per id that the prompt before in the session did not begin with,
/// at most HeldTrace::most_runs of them.
class TraceFile : public TraceSource {
 public:
  /// Throws InputError where the file cannot be opened, ProgramError where zstd is needed and missing.
  explicit TraceFile(TraceFileSpec spec);
  ~TraceFile() override;
  /// Throws InputError with path and line for a damaged line (unless they are skipped), always for a line that
  /// contradicts itself (an id count that does not fit input_length), and for a file without any request; ResourceError
  /// for a line that does not fit the memory.
  bool next(TraceBatch& batch) override;
  TraceProgress progress() const override;
  std::int64_t bad_lines() const { return bad_lines_; }
  /// As found or as told; nothing before the first line is read.
  std::optional<TraceForm> form() const { return spec_.form; }
  /// Prompt tokens of the requests so far that no id stands for; they count as content that nobody else has.
  std::int64_t uncovered_tokens() const;

 private:
  struct Parser;
  void require_requests() const;
  std::string place(std::int64_t line, const std::string& what) const;
  // Reads a line into the batch or what is held; false at the end of the file.
  bool read_line(TraceBatch& batch);
  // Reads the rest of a trace that must be held.
  void hold_rest(TraceBatch& batch);

  TraceFileSpec spec_;
  std::unique_ptr<Parser> parser_;
  std::int64_t requests_ = 0;
  std::int64_t bad_lines_ = 0;
};

/// Where tests and benchmarks find a published trace: $HYBRIDKV_TRACE_DIR/NAME or ../shared/traces/NAME beside the
/// checkout; nothing where neither exists.
std::optional<std::string> find_trace(const std::string& name, const std::string& checkout);

}  // namespace hybridkv
