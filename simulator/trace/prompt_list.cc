#include "simulator/trace/prompt_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_requests = std::int64_t{1} << 40;
constexpr std::int64_t most_variants = std::int64_t{1} << 31;

void check_range(std::size_t prompt, const char* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw SpecError(fmt::format("prompts[{}].{}", prompt, field),
                    fmt::format("must be {} to {}, is {}", least, most, value));
}

void check(const std::vector<PromptSpec>& prompts, std::size_t i) {
  const PromptSpec& prompt = prompts[i];
  check_range(i, "tokens", prompt.tokens, 1, longest_made_up_prompt);
  check_range(i, "copies", prompt.copies, 1, most_requests);
  check_range(i, "variants", prompt.variants, 1, most_variants);
  check_range(i, "output_tokens", prompt.output_tokens, 0, longest_made_up_prompt);
  if (prompt.shared_tokens == 0) return;
  if (prompt.shared_with < 1 || prompt.shared_with > static_cast<std::int64_t>(i))
    throw SpecError(fmt::format("prompts[{}].{}", i, prompt.shared_with == 1 ? "shared_tokens" : "shared_with"),
                    fmt::format("prompt {} can share tokens with an earlier one, not with prompt {}", i + 1,
                                prompt.shared_with));
  const std::int64_t other = prompts[static_cast<std::size_t>(prompt.shared_with - 1)].tokens;
  check_range(i, "shared_tokens", prompt.shared_tokens, 0, std::min(prompt.tokens, other));
  if (prompt.variants > 1 && prompt.shared_tokens == prompt.tokens)
    throw SpecError(fmt::format("prompts[{}].variants", i),
                    fmt::format("{} prompts cannot differ where all {} tokens are shared; take copies", prompt.variants,
                                prompt.tokens));
}

/// Content of the tokens that a variant shares with nobody.
std::uint64_t own_content(std::size_t prompt, std::int64_t variant) {
  return static_cast<std::uint64_t>(variant) << 32 | prompt;
}

}  // namespace

PromptListTrace::PromptListTrace(std::vector<PromptSpec> prompts, std::optional<std::int64_t> max_requests)
    : prompts_(std::move(prompts)) {
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    check(prompts_, i);
    const PromptSpec& prompt = prompts_[i];
    std::vector<TokenRun> runs;
    if (prompt.shared_tokens > 0) {
      for (const TokenRun& run : runs_[static_cast<std::size_t>(prompt.shared_with - 1)]) {
        runs.push_back({std::min(run.end_token, prompt.shared_tokens), run.chain});
        if (run.end_token >= prompt.shared_tokens) break;
      }
    }
    if (prompt.shared_tokens < prompt.tokens) {
      const std::uint64_t chain = runs.empty() ? empty_chain : runs.back().chain;
      runs.push_back({prompt.tokens, extend_chain(chain, own_content(i, 0), prompt.shared_tokens)});
    }
    runs_.push_back(std::move(runs));
    const std::int64_t requests = Checked(prompt.variants) * prompt.copies;
    if (requests > most_requests - num_requests_)
      throw SpecError(fmt::format("prompts[{}].copies", i), fmt::format("more than {} requests", most_requests));
    num_requests_ += requests;
  }
  if (max_requests) num_requests_ = std::min(num_requests_, *max_requests);
}

bool PromptListTrace::next(TraceBatch& batch) {
  batch.clear();
  for (; batch.requests.size() < batch_requests && requests_ < num_requests_; ++requests_) {
    const PromptSpec& prompt = prompts_[prompt_];
    const std::vector<TokenRun>& runs = runs_[prompt_];
    batch.requests.push_back({.index = requests_,
                              .input_length = prompt.tokens,
                              .output_length = prompt.output_tokens,
                              .first_run = std::ssize(batch.runs),
                              .num_runs = std::ssize(runs)});
    batch.runs.insert(batch.runs.end(), runs.begin(), runs.end());
    if (variant_ > 0) {
      const std::uint64_t chain = runs.size() == 1 ? empty_chain : runs[runs.size() - 2].chain;
      batch.runs.back().chain = extend_chain(chain, own_content(prompt_, variant_), prompt.shared_tokens);
    }
    if (++copy_ < prompt.copies) continue;
    copy_ = 0;
    if (++variant_ < prompt.variants) continue;
    variant_ = 0;
    ++prompt_;
  }
  return !batch.requests.empty();
}

TraceProgress PromptListTrace::progress() const {
  return {requests_,
          num_requests_ == 0 ? 1 : static_cast<double>(requests_) / static_cast<double>(num_requests_)};
}

}  // namespace hybridkv
