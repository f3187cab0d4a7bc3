#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/named_values.h"
#include "simulator/trace.h"

namespace hybridkv {

/// How a published trace writes a request: one JSON object a line.
enum class TraceForm {
  mooncake,  ///< timestamp in ms, input_length, output_length, hash_ids: one id per 512 tokens
  qwen,      ///< Qwen-Bailian: timestamp in s, chat_id, parent_chat_id, turn, and one id per 16 tokens
};
inline constexpr auto trace_form_names = std::to_array<Named<TraceForm>>(
    {{TraceForm::mooncake, "mooncake"},
     {TraceForm::qwen, "qwen"}});

constexpr std::string_view to_string(TraceForm value) { return name_in(trace_form_names, value); }
constexpr std::optional<TraceForm> parse_trace_form(std::string_view name) { return value_in(trace_form_names, name); }

/// Tokens of one content id.
std::int64_t id_tokens(TraceForm form);

/// A trace file as the user names it.
struct TraceFileSpec {
  std::string path;                         ///< "-": standard input
  std::optional<TraceForm> form;            ///< default: qwen where the first request has a chat_id, else mooncake
  bool skip_bad_lines = false;              ///< count damaged lines instead of stopping at the first
  std::optional<std::int64_t> max_requests; ///< read only the first ones
};

/// Reads a trace file request by request; memory does not grow with the file.
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

 private:
  struct Parser;
  void require_requests() const;

  TraceFileSpec spec_;
  std::unique_ptr<Parser> parser_;
  std::int64_t requests_ = 0;
  std::int64_t bad_lines_ = 0;
};

/// Where tests and benchmarks find a published trace: $HYBRIDKV_TRACE_DIR/NAME or ../shared/traces/NAME beside the
/// checkout; nothing where neither exists.
std::optional<std::string> find_trace(const std::string& name, const std::string& checkout);

}  // namespace hybridkv
