#include "ask/recommend_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "planner/group_settings.h"
#include "planner/row_settings.h"
#include "planner/tree_settings.h"

namespace hybridkv {

namespace {

/// "32768,8192": the lengths of the scenario, and the one that is compared.
std::string lengths_text(const std::vector<std::int64_t>& lengths, std::int64_t at_length) {
  std::string text = fmt::format("{}", fmt::join(lengths, ","));
  const bool there = std::find(lengths.begin(), lengths.end(), at_length) != lengths.end();
  return there ? text : fmt::format("{},{}", text, at_length);
}

/// A key of the scenario that searches choose or leave out, and what a scenario says for it; nothing: it stands there
/// for no value.
struct ChosenKey {
  std::string_view key;
  std::function<std::optional<std::string>(const Scenario&)> value;
  std::string_view flag = {};  ///< of the command that replays; empty: none
};

/// As a scenario says it; nothing where it is not set.
template <class Value>
std::optional<std::string> said(const std::optional<Value>& value) {
  if (!value) return std::nullopt;
  if constexpr (std::is_enum_v<Value>) return std::string(to_string(*value));
  else return fmt::format("{}", *value);
}

template <class Part, class Value>
ChosenKey chosen(std::string_view key, Part Scenario::*part, std::optional<Value> Part::*member,
                 std::string_view flag = {}) {
  return {key, [part, member](const Scenario& scenario) { return said(scenario.*part.*member); }, flag};
}

template <class Value>
ChosenKey own(std::string_view key, const Setting<Value>& setting) {
  return {key, [&setting](const Scenario& scenario) { return said(scenario.engine.own.find(setting)); }};
}

/// Those of the cache, which commands that plan and that replay are told.
const std::vector<ChosenKey>& engine_keys() {
  static const std::vector<ChosenKey> keys{
      {"engine.attention_pack_size",
       [](const Scenario& scenario) { return std::to_string(scenario.engine.attention_pack_size); }},
      {"engine.cache_mode",
       [](const Scenario& scenario) { return std::string(to_string(scenario.engine.cache_mode)); }},
      chosen("engine.block_size_tokens", &Scenario::engine, &EngineSpec::block_size_tokens),
      {"engine.kernel_block_sizes",
       [](const Scenario& scenario) -> std::optional<std::string> {
         const std::vector<std::int64_t>& sizes = scenario.engine.kernel_block_sizes;
         return sizes.empty() ? std::nullopt : std::optional(fmt::format("[{}]", fmt::join(sizes, ",")));
       }},
      own("engine.mamba_radix_cache_strategy", tree_key::mamba_radix_cache_strategy),
      own("engine.max_mamba_cache_size", tree_key::max_mamba_cache_size),
      chosen("engine.state_memory_ratio", &Scenario::engine, &EngineSpec::state_memory_ratio),
      own("engine.page_size", tree_key::page_size),
      own("engine.mamba_track_interval", tree_key::mamba_track_interval),
      chosen("engine.max_running_requests", &Scenario::engine, &EngineSpec::max_running_requests),
      own("engine.periodic_snapshot_interval", group_key::periodic_snapshot_interval),
      own("engine.mamba_state_cache_interval", group_key::mamba_state_cache_interval),
      own("engine.additional_snapshot_offsets_from_end", group_key::offsets_from_end),
      own("engine.enable_branch_snapshot", group_key::enable_branch_snapshot),
      own("engine.pool_ratio", group_key::pool_ratio),
      own("engine.ctx_checkpoints", row_key::ctx_checkpoints),
      own("engine.checkpoint_min_step", row_key::checkpoint_min_step),
      own("engine.cache_ram", row_key::cache_ram),
      own("engine.kv_unified", row_key::kv_unified)};
  return keys;
}

/// Those of a replay alone.
const std::vector<ChosenKey>& replay_keys() {
  static const std::vector<ChosenKey> keys{
      chosen("simulate.match_unit_tokens", &Scenario::simulate, &SimulateRequest::match_unit_tokens,
             "--match-unit"),
      chosen("simulate.retention_interval_tokens", &Scenario::simulate, &SimulateRequest::retention_interval_tokens,
             "--retention"),
      {"simulate.keep_all_checkpoints",
       [](const Scenario& scenario) -> std::optional<std::string> {
         return scenario.simulate.keeps_all_checkpoints ? std::optional<std::string>("true") : std::nullopt;
       }},
      chosen("simulate.host_memory", &Scenario::simulate, &SimulateRequest::host_memory_bytes),
      chosen("simulate.host_state_share", &Scenario::simulate, &SimulateRequest::host_state_share)};
  return keys;
}

/// Says the keys in which two scenarios differ, the pack size and the mode always: a flag where the key has one.
void say(const std::vector<ChosenKey>& keys, const Scenario& scenario, const Scenario& chosen, CommandWords& words) {
  for (const ChosenKey& one : keys) {
    const std::optional<std::string> value = one.value(chosen);
    const bool has_flag = !flag_of_key(key_flags, one.key).empty();
    if (has_flag) words.value_of(one.key) = *value;
    else if (value == one.value(scenario)) continue;
    else if (value && !one.flag.empty()) words.replay.push_back({std::string(one.flag), *value});
    else words.overrides.push_back(fmt::format("{}={}", one.key, value.value_or("null")));
  }
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

}  // namespace

std::vector<std::string> candidate_commands(const CommandWords& asked, const Scenario& scenario,
                                            const RecommendAnswer& answer, std::size_t candidate) {
  const Recommendation& result = answer.result;
  const Scenario chosen = scenario_of(scenario, answer, candidate);
  const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
  CommandWords planned = asked;
  say(engine_keys(), scenario, chosen, planned);
  CommandWords replayed = planned;
  replayed.replay.clear();
  say(replay_keys(), scenario, chosen, replayed);
  const bool alone = lengths.size() == 1 && lengths.front() == result.at_length;
  if (!alone) planned.value_of("limits.max_model_len") = lengths_text(lengths, result.at_length);
  std::vector<std::string> commands{"hybridkv plan " + shell_words(planned)};
  // Where nothing is found again, as without a tree, there is nothing to replay.
  if (!result.layout_of(candidate).cache) return commands;
  // Requests are refused by the longest length, whatever length is compared.
  if (lengths.size() > 1) replayed.value_of("limits.max_model_len") = std::to_string(result.max_model_len);
  commands.push_back("hybridkv simulate " + shell_words(replayed) + workload_words(asked, chosen.simulate.trace) +
                     replay_words(replayed));
  return commands;
}

void add_commands(RecommendAnswer& answer, const Scenario& scenario, const CommandWords& asked) {
  answer.commands = candidate_commands(asked, scenario, answer, answer.result.pick);
  if (answer.result.unpacked_pick)
    answer.unpacked_commands = candidate_commands(asked, scenario, answer, *answer.result.unpacked_pick);
}

}  // namespace hybridkv
