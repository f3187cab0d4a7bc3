#include "ask/recommend_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hybridkv {

namespace {

/// "32768,8192": the lengths of the scenario, and the one that is compared.
std::string lengths_text(const std::vector<std::int64_t>& lengths, std::int64_t at_length) {
  std::string text = fmt::format("{}", fmt::join(lengths, ","));
  const bool there = std::find(lengths.begin(), lengths.end(), at_length) != lengths.end();
  return there ? text : fmt::format("{},{}", text, at_length);
}

/// The question with what an engine with blocks was picked.
CommandWords words_of(const CommandWords& asked, const RecommendQuestion& question, const Recommendation& result,
                      const Candidate& candidate) {
  CommandWords words = asked;
  const PlannedLayout& layout = result.layout_of(candidate);
  words.value_of("engine.attention_pack_size") = std::to_string(layout.pack);
  words.value_of("engine.cache_mode") = to_string(layout.mode);
  if (layout.block_floor)
    words.overrides.push_back(fmt::format("engine.block_size_tokens={}", *layout.block_floor));
  if (!question.kernel_blocks.empty())
    words.overrides.push_back(fmt::format("engine.kernel_block_sizes=[{}]", fmt::join(question.kernel_blocks, ",")));
  return words;
}

/// The question with what an engine with radix pools was picked.
CommandWords words_of(const CommandWords& asked, const RadixRecommendAnswer& answer) {
  CommandWords words = asked;
  words.value_of("engine.attention_pack_size") = "1";
  const std::vector<EngineSetting> before = radix_settings(answer.engine);
  for (const EngineSetting& setting : answer.pick.settings) {
    const bool same = std::any_of(before.begin(), before.end(), [&](const EngineSetting& other) {
      return other.key == setting.key && other.value == setting.value;
    });
    if (same) continue;
    if (setting.key == "engine.cache_mode") words.value_of(setting.key) = setting.value;
    else words.overrides.push_back(setting.key + "=" + setting.value);
  }
  return words;
}

std::int64_t requests_of(const TraceSpec& trace) {
  std::int64_t requests = 0;
  for (const PromptSpec& prompt : trace.prompts) requests += prompt.variants * prompt.copies;
  return requests;
}

/// The flags about the workload and the scheduler; how many requests there are is said where the commands that replay
/// them would take others.
std::string workload_words(const CommandWords& asked, const TraceSpec& trace) {
  std::string words = replay_words(asked);
  const bool made_up = trace.file.empty() && trace.prompts.empty();
  if (made_up && !asked.replays_with("--requests")) words += fmt::format(" --requests {}", *trace.max_requests);
  if (asked.replays_with("--prompt-tokens")) words += fmt::format(" --requests {}", requests_of(trace));
  return words;
}

std::vector<std::string> commands_of(CommandWords planned, const SearchResult& result, const TraceSpec& trace,
                                     const std::vector<std::int64_t>& lengths) {
  CommandWords replayed = planned;
  const bool alone = lengths.size() == 1 && lengths.front() == result.at_length;
  if (!alone) planned.value_of("limits.max_model_len") = lengths_text(lengths, result.at_length);
  // Requests are refused by the longest length, whatever length is compared.
  if (lengths.size() > 1) replayed.value_of("limits.max_model_len") = std::to_string(result.max_model_len);
  return {"hybridkv plan " + shell_words(planned),
          "hybridkv simulate " + shell_words(replayed) + workload_words(replayed, trace)};
}

}  // namespace

std::vector<std::string> block_commands(const CommandWords& asked, const RecommendQuestion& question,
                                        const RecommendAnswer& answer, std::size_t candidate,
                                        const std::vector<std::int64_t>& lengths) {
  const Candidate& chosen = answer.result.candidates[candidate];
  std::vector<std::string> commands =
      commands_of(words_of(asked, question, answer.result, chosen), answer.result, answer.trace, lengths);
  if (chosen.match_unit_tokens) commands.back() += fmt::format(" --match-unit {}", *chosen.match_unit_tokens);
  if (chosen.retention_tokens) commands.back() += fmt::format(" --retention {}", *chosen.retention_tokens);
  return commands;
}

std::vector<std::string> radix_commands(const CommandWords& asked, const RadixRecommendAnswer& answer,
                                        const std::vector<std::int64_t>& lengths) {
  return commands_of(words_of(asked, answer), answer.result, answer.trace, lengths);
}

}  // namespace hybridkv
