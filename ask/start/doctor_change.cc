#include "ask/start/doctor_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/plan.h"
#include "base/error.h"
#include "base/number_text.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

/// Settings with those of a change in place of their own.
std::vector<Assignment> changed_settings(std::vector<Assignment> settings, const std::vector<Assignment>& change) {
  for (const Assignment& one : change) {
    const auto same = std::find_if(settings.begin(), settings.end(),
                                   [&](const Assignment& old) { return old.first == one.first; });
    if (same == settings.end()) settings.push_back(one);
    else same->second = one.second;
  }
  return settings;
}

/// All settings of a log under a change; `finds`: also those of how prefixes are found.
std::vector<Assignment> all_settings(const Explanation& explained, const SettingChange& change, bool finds) {
  std::vector<Assignment> settings = explained.settings;
  if (finds)
    settings.insert(settings.end(), explained.cache_settings.begin(), explained.cache_settings.end());
  return changed_settings(std::move(settings), change.settings);
}

std::vector<SettingChange> states_in_bf16(const CachePlan& plan) {
  const SpecPlan* const state = largest_state(plan);
  if (state == nullptr || state->kind == family_name(KdaSpec{})) return {};
  constexpr std::int64_t bf16_bytes = 2;
  if (std::all_of(state->state->tensors.begin(), state->state->tensors.end(),
                  [](const StateTensor& tensor) { return element_bytes(tensor.dtype) <= bf16_bytes; }))
    return {};
  return {{{{"engine.ssm_dtype", "bf16"}}, "states in bf16", "precision of states"}};
}

/// The smallest part of a block at whose multiples prefixes may be found.
std::int64_t smallest_unit(const CacheGeometry& geometry) {
  constexpr std::int64_t kernel_block = 16;  // hashes of fewer tokens cost more than they find
  const std::int64_t block = geometry.common_block();
  return block % kernel_block == 0 ? kernel_block : block;
}

/// Memory in which a plan of the same settings is that of the log. What settings size takes all of it, whatever more
/// there is.
std::int64_t memory_of(const Explanation& explained) {
  constexpr std::int64_t spare = 64;  // one part in so many, for what is rounded
  const std::int64_t bytes = explained.plan.allocated_bytes();
  return explained.is_sized_by_settings ? bytes + explained.plan.arenas.front().bytes_per_id + bytes / spare : bytes;
}

/// `hybridkv COMMAND` about the model of the log with these settings and words.
std::string command_with(const DoctorQuestion& question, const Explanation& explained,
                         const std::vector<Assignment>& settings, const std::string& command,
                         const std::string& words) {
  std::string typed = "hybridkv " + command;
  if (!question.asked.root.find("model")) typed += " --model " + explained.model;
  if (!question.typed.empty()) typed += " " + question.typed;
  if (!words.empty()) typed += " " + words;
  typed += fmt::format(" --memory {} --max-model-len {}", memory_of(explained), explained.length);
  for (const auto& [key, value] : settings) typed += fmt::format(" --set {}={}", key, value);
  return typed;
}

}  // namespace

ScenarioFile with_settings(ScenarioFile file, const std::vector<Assignment>& settings) {
  for (const auto& [key, value] : settings) apply_override(file, key, value, from_log);
  return file;
}

std::vector<SettingChange> changes_for_room(const Explanation& explained) {
  std::vector<SettingChange> changes;
  const CachePlan& plan = explained.plan;
  const SpecPlan* const attention = primary_attention(plan);
  if (!plan.rules->one_allocation && attention != nullptr && plan.attention_pack_size == 1)
    for (const std::int64_t pack : {2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 17, 24})
      if (pack <= std::ssize(attention->layers))
        changes.push_back({{{"engine.attention_pack_size", std::to_string(pack)}},
                           fmt::format("{} attention layers a page", pack), "needs PR 35703, merged in no release"});
  if (plan.speculative_tokens > 0)
    changes.push_back({{{"engine.speculative_tokens", "0"}, {"engine.mtp_layers", "0"}}, "no drafts",
                       "tokens are made one at a time"});
  if (plan.cache_mode != CacheMode::none)
    changes.push_back({{{"engine.cache_mode", "none"}}, "no prefix caching", "no prefix is found again"});
  if (attention != nullptr && attention->attention->kind != AttentionKind::mla && !attention->attention->format &&
      element_bytes(attention->attention->dtype) == 2)
    changes.push_back({{{"engine.kv_dtype", "fp8_e4m3"}}, "K and V in fp8", "precision of K and V"});
  for (SettingChange& change : states_in_bf16(plan)) changes.push_back(std::move(change));
  return changes;
}

std::vector<SettingChange> changes_for_hits(const Explanation& explained) {
  const auto* const geometry = explained.cache ? std::get_if<CacheGeometry>(&*explained.cache) : nullptr;
  if (geometry == nullptr || geometry->has_encoder) return {};
  const CachePlan& plan = explained.plan;
  if (!geometry->caches_prefixes())
    return {{{{"engine.cache_mode", "align"}}, "prefix caching (mode align)", "blocks for states at boundaries"}};
  std::vector<SettingChange> changes;
  if (const std::int64_t unit = smallest_unit(*geometry);
      plan.rules->match_units && unit < geometry->match_unit() && geometry->has_state_blocks())
    changes.push_back({{{"simulate.match_unit_tokens", std::to_string(unit)}},
                       fmt::format("match unit of {} tokens", unit), "a hash for every one of them"});
  const std::int64_t every = geometry->common_multiple();
  if (geometry->depends_on_retention() && geometry->retention_interval_tokens == 0)
    changes.push_back({{{"simulate.retention_interval_tokens", std::to_string(every)}},
                       fmt::format("a state every {} tokens", human_count(every)), "states crowd out each other"});
  for (SettingChange& change : states_in_bf16(plan)) changes.push_back(std::move(change));
  return changes;
}

ScenarioFile changed_file(const ScenarioFile& file, const Explanation& explained, const SettingChange& change) {
  ScenarioFile one = with_settings(file, all_settings(explained, change, true));
  apply_override(one, "engine.memory", std::to_string(memory_of(explained)), from_log);
  apply_override(one, "limits.max_model_len", std::to_string(explained.length), from_log);
  return one;
}

std::string changed_command(const DoctorQuestion& question, const Explanation& explained, const SettingChange& change,
                            const std::string& command, const std::string& words) {
  // A plan does not depend on how prefixes are found, unless that is what changes.
  return command_with(question, explained, all_settings(explained, change, !words.empty()), command, words);
}

std::string search_command(const DoctorQuestion& question, const Explanation& explained) {
  constexpr std::string_view kept[] = {"engine.release", "engine.backend_profile", "engine.tensor_parallel",
                                       "engine.kv_dtype", "engine.ssm_dtype"};
  std::vector<Assignment> settings = explained.settings;
  std::erase_if(settings, [&](const Assignment& setting) {
    return std::find(std::begin(kept), std::end(kept), setting.first) == std::end(kept);
  });
  return command_with(question, explained, settings, "recommend", question.trace_words);
}

std::vector<BetterSetting> planned_changes(const DoctorQuestion& question, const ScenarioFile& file,
                                           const Explanation& explained, const std::vector<SettingChange>& changes) {
  std::vector<BetterSetting> planned;
  // Pools have sizes of their own, which a setting for all of the memory would share anew.
  if (!explained.num_blocks || explained.length == 0 || question.log.is_of_pools()) return planned;
  for (const SettingChange& change : changes) {
    try {
      const Scenario scenario = read_scenario(changed_file(file, explained, change));
      const CachePlan plan = plan_pack(scenario, 0, PlanDetail::summary);
      const CapacityPlan& capacity = plan.capacity.front();
      planned.push_back({changed_command(question, explained, change, "plan", {}), change.what, change.gives_up,
                         capacity.max_concurrency, capacity.kv_cache_tokens, primary_block_tokens(plan)});
    } catch (const InputError&) {  // not for this model: nothing to try
    }
  }
  return planned;
}

std::vector<BetterSetting> better_settings(const DoctorQuestion& question, const ScenarioFile& file,
                                           const Explanation& explained) {
  std::vector<BetterSetting> better = planned_changes(question, file, explained, changes_for_room(explained));
  constexpr double worth_it = 1.01;
  if (!better.empty())
    std::erase_if(better, [now = explained.plan.capacity.front().max_concurrency](const BetterSetting& one) {
      return one.concurrency < worth_it * now;
    });
  std::stable_sort(better.begin(), better.end(),
                   [](const BetterSetting& a, const BetterSetting& b) { return a.concurrency > b.concurrency; });
  constexpr std::size_t most_shown = 4;
  if (better.size() > most_shown) better.resize(most_shown);
  return better;
}

std::vector<BetterSetting> hit_settings(const DoctorQuestion& question, const ScenarioFile& file,
                                        const Explanation& explained) {
  return planned_changes(question, file, explained, changes_for_hits(explained));
}

}  // namespace hybridkv
