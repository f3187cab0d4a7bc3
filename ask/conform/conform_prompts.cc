#include "ask/conform/conform_prompts.h"

#include <algorithm>

#include "base/random.h"

namespace hybridkv {

namespace {

constexpr std::int64_t prompts_of_a_case = 8;

/// The first tokens of a prompt.
ConformPrompt beginning_of(const ConformPrompt& prompt, std::int64_t tokens) {
  ConformPrompt beginning;
  for (const PromptPart& part : prompt) {
    if (tokens <= 0) break;
    beginning.push_back({part.content, std::min(part.tokens, tokens)});
    tokens -= part.tokens;
  }
  return beginning;
}

std::int64_t tokens_in(const ConformPrompt& prompt) {
  std::int64_t tokens = 0;
  for (const PromptPart& part : prompt) tokens += part.tokens;
  return tokens;
}

}  // namespace

std::vector<ConformPrompt> conform_prompts(std::uint64_t key, std::int64_t longest) {
  std::vector<ConformPrompt> prompts;
  std::uint64_t draws = 0;
  const auto up_to = [&](std::int64_t most) {
    return most < 1 ? 0 : 1 + static_cast<std::int64_t>(mix(key, ++draws) % static_cast<std::uint64_t>(most));
  };
  for (std::int64_t i = 0; i < prompts_of_a_case; ++i) {
    ConformPrompt prompt;
    // A copy now and then, else the beginning of an earlier prompt, else nothing shared.
    const std::int64_t kind = up_to(4);
    if (i > 0 && kind > 1) {
      const ConformPrompt& earlier = prompts[static_cast<std::size_t>(up_to(i) - 1)];
      prompt = beginning_of(earlier, kind == 2 ? tokens_in(earlier) : up_to(tokens_in(earlier)));
    }
    const std::int64_t rest = longest - tokens_in(prompt);
    if ((prompt.empty() || kind > 2) && rest > 0)
      prompt.push_back({static_cast<std::uint64_t>(i + 1), up_to(rest)});
    prompts.push_back(prompt);
  }
  return prompts;
}

TraceBatch trace_of(const std::vector<ConformPrompt>& prompts) {
  TraceBatch batch;
  for (const ConformPrompt& prompt : prompts) {
    TraceRequest request{.index = std::ssize(batch.requests), .output_length = 1, .first_run = std::ssize(batch.runs),
                         .num_runs = std::ssize(prompt)};
    std::uint64_t chain = empty_chain;
    for (const PromptPart& part : prompt) {
      chain = extend_chain(chain, part.content, request.input_length);
      request.input_length += part.tokens;
      batch.runs.push_back({request.input_length, chain});
    }
    batch.requests.push_back(request);
  }
  return batch;
}

}  // namespace hybridkv
