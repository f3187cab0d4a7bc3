#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// One prompt of a trace that is written out by hand, and how often it comes.
struct PromptSpec {
  std::int64_t tokens = 0;         ///< length of the prompt, 1 .. 2^30
  std::int64_t copies = 1;         ///< requests with this very prompt, one after the other, >= 1
  std::int64_t shared_tokens = 0;  ///< its first tokens are those of prompt `shared_with`, 0 .. tokens of either
  std::int64_t shared_with = 1;    ///< number of an earlier prompt of the list, from 1; of its first variant
  std::int64_t output_tokens = 0;  ///< tokens that each request generates, >= 0
  std::int64_t variants = 1;       ///< prompts like this one that differ in every token behind the shared ones, >= 1
  bool operator==(const PromptSpec&) const = default;
};

/// A trace in a few lines: prompts in the order of a list, each as often as it says, all known from the start (time 0).
///
/// Example: `{{.tokens = 2200}, {.tokens = 2100, .shared_tokens = 1600}}`: two requests with 1600 tokens in common.
/// `{{.tokens = 370}, {.tokens = 370, .shared_tokens = 200, .variants = 99}}`: a hundred with 200 in common, in the
/// memory of two.
class PromptListTrace : public TraceSource {
 public:
  /// Throws SpecError, path "prompts[i].FIELD", for a length out of range or a share of what does not
  /// exist, or more than 2^40 requests. `max_requests`: only the first ones.
  explicit PromptListTrace(std::vector<PromptSpec> prompts, std::optional<std::int64_t> max_requests = {});
  bool next(TraceBatch& batch) override;
  TraceProgress progress() const override;

 private:
  std::vector<PromptSpec> prompts_;
  std::vector<std::vector<TokenRun>> runs_;  // (prompt), of its first variant
  std::int64_t num_requests_ = 0;
  std::size_t prompt_ = 0;     // the next request's
  std::int64_t variant_ = 0;   // of that prompt, from 0
  std::int64_t copy_ = 0;      // of that variant, from 0
  std::int64_t requests_ = 0;  // handed out
};

}  // namespace hybridkv
