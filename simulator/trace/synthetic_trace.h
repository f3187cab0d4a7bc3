#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/named_values.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// Whole numbers drawn at random, then clamped to least .. most.
struct Distribution {
  enum class Kind {
    constant,   ///< always `a`
    uniform,    ///< a .. b, both included
    geometric,  ///< mean a, from 1 upwards
    lognormal,  ///< median a, b = standard deviation of the logarithm
  };
  Kind kind = Kind::constant;
  double a = 0;
  double b = 0;
  std::int64_t least = 1;
  std::int64_t most = std::int64_t{1} << 40;
  bool operator==(const Distribution&) const = default;
};
inline constexpr auto distribution_names = std::to_array<Named<Distribution::Kind>>(
    {{Distribution::Kind::constant, "constant"},
     {Distribution::Kind::uniform, "uniform"},
     {Distribution::Kind::geometric, "geometric"},
     {Distribution::Kind::lognormal, "lognormal"}});

constexpr std::string_view to_string(Distribution::Kind value) { return name_in(distribution_names, value); }
constexpr std::optional<Distribution::Kind> parse_distribution_kind(std::string_view name) {
  return value_in(distribution_names, name);
}

/// Made-up traffic: conversations, agent loops and questions over documents, each behind a system prompt.
///
/// A chat repeats its system prompt and all turns so far, and adds a user message; an agent loop does the same with
/// tool results and short pauses; a retrieval request is one system prompt, some documents and a question. System
/// prompts and documents are shared, the popular ones more (Zipf). Defaults are plausible, not measured.
struct SyntheticTraceSpec {
  std::uint64_t seed = 1;
  std::int64_t num_requests = 10000;            ///< >= 0
  double sessions_per_second = 2;               ///< new conversations, loops and questions together, > 0
  double chat_weight = 0.6;                     ///< shares of the sessions, >= 0, not all 0
  double agent_weight = 0.25;
  double retrieval_weight = 0.15;
  std::int64_t num_system_prompts = 20;         ///< of each of the three kinds, >= 1
  std::int64_t num_documents = 5000;            ///< >= 1
  double popularity_skew = 1;                   ///< Zipf exponent of system prompts and documents, >= 0
  Distribution system_tokens{Distribution::Kind::lognormal, 700, 0.7, 16, 16384};
  Distribution agent_system_tokens{Distribution::Kind::lognormal, 3000, 0.5, 16, 32768};
  Distribution chat_turns{Distribution::Kind::geometric, 4, 0, 1, 60};
  Distribution user_tokens{Distribution::Kind::lognormal, 80, 1.1, 1, 32768};
  Distribution answer_tokens{Distribution::Kind::lognormal, 250, 0.8, 1, 4096};
  Distribution agent_steps{Distribution::Kind::geometric, 12, 0, 1, 200};
  Distribution tool_tokens{Distribution::Kind::lognormal, 400, 1.1, 1, 32768};
  Distribution action_tokens{Distribution::Kind::lognormal, 100, 0.7, 1, 4096};
  Distribution documents_per_question{Distribution::Kind::uniform, 2, 6, 1, 100};
  Distribution document_tokens{Distribution::Kind::lognormal, 600, 0.5, 16, 8192};
  double chat_pause_seconds = 45;               ///< mean time between turns, exponential, >= 0
  double agent_pause_seconds = 6;               ///< mean time between steps, exponential, >= 0
  std::int64_t max_prompt_tokens = 131072;      ///< a session ends before it grows beyond, >= 1
  bool operator==(const SyntheticTraceSpec&) const = default;
};

/// Generates a trace in order of time. The same spec gives the same requests; memory grows with the sessions that
/// are open at one time, not with the number of requests.
class SyntheticTrace : public TraceSource {
 public:
  /// Throws SpecError, path "trace.FIELD".
  explicit SyntheticTrace(const SyntheticTraceSpec& spec);
  ~SyntheticTrace() override;
  bool next(TraceBatch& batch) override;
  TraceProgress progress() const override;
  /// Sessions that wait for their next turn.
  std::int64_t open_sessions() const;

 private:
  class Generator;
  std::unique_ptr<Generator> generator_;
};

}  // namespace hybridkv
