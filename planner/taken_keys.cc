#include "planner/taken_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "planner/advised_release.h"
#include "planner/engine_spec.h"

namespace hybridkv {

namespace {

const EngineSpec& plain_engine() {
  static const EngineSpec plain;
  return plain;
}

/// A key that several engines share and not all take.
struct SharedKey {
  std::string_view name;
  bool (*is_set)(const EngineSpec& engine);
  bool is_unplanned = false;  ///< engines that do not take it may have it, but nobody read or ran how
};

template <auto member>
bool differs(const EngineSpec& engine) {
  return engine.*member != plain_engine().*member;
}

constexpr SharedKey shared_keys[] = {
    {"attention_pack_size", differs<&EngineSpec::attention_pack_size>},
    {"layers_per_group", differs<&EngineSpec::layers_per_group>},
    {"block_size_tokens", differs<&EngineSpec::block_size_tokens>},
    {"mamba_block_size_tokens", differs<&EngineSpec::mamba_block_size_tokens>},
    {"kernel_alignment_tokens", differs<&EngineSpec::kernel_alignment_tokens>},
    {"kernel_block_sizes", differs<&EngineSpec::kernel_block_sizes>},
    {"what_if", differs<&EngineSpec::what_if>},
    {"page_alignment_bytes", differs<&EngineSpec::page_alignment_bytes>},
    {"backend_profile", differs<&EngineSpec::backend_profile>},
    {"concurrent_batches", differs<&EngineSpec::concurrent_batches>},
    {"state_requests", differs<&EngineSpec::state_requests>},
    {"state_memory_ratio", differs<&EngineSpec::state_memory_ratio>},
    {"max_running_requests", differs<&EngineSpec::max_running_requests>},
    {"num_blocks", differs<&EngineSpec::num_blocks>},
    {"kv_dtype", differs<&EngineSpec::kv_format>},  // an element type is every engine's, formats with scales are not
    {"conv_state_layout", differs<&EngineSpec::conv_state_layout>},
    {"hidden_state_size", differs<&EngineSpec::hidden_state_size>},
    {"token_rule", differs<&EngineSpec::token_rule>},
    {"backend_form", differs<&EngineSpec::backend_form>},
    {"physical_order", [](const EngineSpec& engine) { return engine.physical_order == PhysicalOrder::head_major; }},
    {"speculative_tokens", differs<&EngineSpec::speculative_tokens>, true},
    {"draft", differs<&EngineSpec::draft>, true},
    {"mtp_layers", differs<&EngineSpec::mtp_layers>, true},
    {"pipeline_parallel", differs<&EngineSpec::pipeline_parallel>, true},
    {"pipeline_memory", differs<&EngineSpec::pipeline_memory_bytes>, true},
    {"decode_context_parallel", differs<&EngineSpec::decode_context_parallel>, true},
    {"hybrid_manager", differs<&EngineSpec::hybrid_manager>, true},
    {"checkpoint_alignment_tokens", differs<&EngineSpec::checkpoint_alignment_tokens>, true},
    {"checkpoint_blocks", differs<&EngineSpec::checkpoint_blocks>, true},
    {"prefix_match_unit_tokens", differs<&EngineSpec::prefix_match_unit_tokens>, true},
};

const SettingKey* own_key(const EngineRules& rules, std::string_view key) {
  const auto found = std::find_if(rules.own_keys.begin(), rules.own_keys.end(),
                                  [&](const OwnKey& own) { return own.key->name == key; });
  return found == rules.own_keys.end() ? nullptr : found->key;
}

/// What to do instead: the engine's own words, else a release that takes the key.
std::string way_out(const EngineRules& rules, std::string_view key) {
  for (const KeyWords& instead : rules.instead)
    if (instead.key == key) return std::string(instead.words);
  const EngineRules* const other = advised_release([&](const EngineRules& one) { return takes(one, key); });
  return other == nullptr ? "leave it out" : fmt::format("set engine.release to {}, or leave it out", other->name);
}

void refuse_strategy(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  if (engine.strategy == rules.strategy) return;
  if (!takes(rules, "strategy"))
    throw SpecError("engine.strategy", fmt::format("{} has no {}; its strategy is {}", rules.title,
                                                   to_string(engine.strategy), to_string(rules.strategy)));
  if (!keeps_tensors_apart(engine.strategy)) return;
  for (const EngineRules* const other : all_engine_rules())
    if (engine.strategy == other->strategy)
      throw SpecError("engine.strategy", fmt::format("{} is that of {} alone; set engine.release to {}, or take "
                                                     "another strategy", to_string(engine.strategy), other->title,
                                                     other->name));
}

/// Those that have a range; of shares the mechanism that takes them says what they may be.
std::vector<std::int64_t> whole_numbers(const SettingValue& value) {
  if (const auto* one = std::get_if<std::int64_t>(&value)) return {*one};
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  return list == nullptr ? std::vector<std::int64_t>{} : *list;
}

void refuse_own_keys(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  for (const auto& [name, value] : engine.own.values()) {
    const std::string path = fmt::format("engine.{}", name);
    const SettingKey* const key = own_key(rules, name);
    if (key == nullptr)
      throw SpecError(path, fmt::format("{} has no such setting; {}", rules.title, way_out(rules, name)));
    if (key->type == SettingType::flag || key->type == SettingType::choice) continue;
    for (const std::int64_t number : whole_numbers(value))
      if (number < key->least || number > key->most)
        throw SpecError(path, fmt::format("is {}; allowed: {} to {}", number, key->least, key->most));
  }
}

}  // namespace

bool takes(const EngineRules& rules, std::string_view key) {
  return own_key(rules, key) != nullptr || std::find(rules.takes.begin(), rules.takes.end(), key) != rules.takes.end();
}

void refuse_untaken_keys(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  refuse_own_keys(engine);
  refuse_strategy(engine);
  for (const SharedKey& key : shared_keys)
    if (key.is_set(engine) && !takes(rules, key.name))
      throw SpecError(fmt::format("engine.{}", key.name),
                      fmt::format("{}; {}", key.is_unplanned ? fmt::format("is not planned for {}", rules.title)
                                                             : fmt::format("{} has no such setting", rules.title),
                                  way_out(rules, key.name)));
}

}  // namespace hybridkv
