#include "ask/conform/conform_request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "planner/indexers.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// The name of what has one, null of nothing.
template <class Value>
Json name_or_null(const std::optional<Value>& value) {
  return value ? Json(to_string(*value)) : Json();
}

Json told(std::int64_t number, const AttentionSpec& layer, bool draft) {
  Json json{{"layer", number},
            {"kind", to_string(layer.kind)},
            {"query_heads", layer.query_heads},
            {"kv_heads", layer.kv_heads},
            {"head_size_k", layer.head_size_k},
            {"head_size_v", layer.head_size_v},
            {"window_tokens", layer.window_tokens},
            {"draft", draft}};
  if (layer.indexer)
    json["indexer"] = {{"bytes_per_entry", layer.indexer->bytes_per_entry},
                       {"tokens_per_entry", layer.indexer->tokens_per_entry}};
  return json;
}

Json told(std::int64_t number, const RecurrentSpec& layer) {
  Json json{{"layer", number}, {"kind", "state"}, {"family", family_name(layer)}};
  std::visit(
      [&]<class Spec>(const Spec& spec) {
        for (const FamilyField<Spec>& field : family_of(spec).fields)
          std::visit([&](auto member) { json[std::string(field.name)] = spec.*member; }, field.member);
      },
      layer);
  return json;
}

/// The layers in the order of the model; those of a drafter count on.
Json told_layers(const ConformCase& one) {
  Json layers = Json::array();
  std::int64_t number = 0;
  const AttentionSpec* full = nullptr;
  for (const LayerSpec& layer : one.model.layers) {
    if (layer.attention) layers.push_back(told(number, *layer.attention, false));
    if (layer.cross) layers.push_back(told(number, *layer.cross, false));
    if (layer.recurrent) layers.push_back(told(number, *layer.recurrent));
    if (full == nullptr && layer.attention && layer.attention->window_tokens == 0) full = &*layer.attention;
    ++number;
  }
  const AttentionSpec* mtp = one.model.mtp ? &*one.model.mtp : full;
  for (std::int64_t i = 0; mtp != nullptr && i < one.engine.mtp_layers; ++i)
    layers.push_back(told(number++, *mtp, true));
  return layers;
}

Json told_model(const ConformCase& one) {
  Json told{{"name", one.model.name}, {"dtype", to_string(one.model.dtype)}, {"layers", told_layers(one)}};
  if (has_indexers(one.model)) {
    const auto first = std::find_if(one.model.layers.begin(), one.model.layers.end(),
                                    [](const LayerSpec& layer) { return layer.attention && layer.attention->indexer; });
    told["indexer_bytes_per_token"] = first->attention->indexer->bytes_per_entry;
    told["ring_tokens"] = one.model.ring_tokens;
  }
  return told;
}

Json told_setting(const ConformCase& one) {
  const EngineSpec& engine = one.engine;
  // A type that the model fixes is what its class tells the engine in place of the user.
  const std::optional<DType> ssm = engine.ssm_dtype ? engine.ssm_dtype : one.model.ssm_dtype;
  return {{"tensor_parallel", engine.tensor_parallel},
          {"kv_dtype", name_or_null(engine.kv_dtype)},
          {"conv_dtype", name_or_null(engine.conv_dtype)},
          {"ssm_dtype", name_or_null(ssm)},
          {"cache_mode", to_string(engine.cache_mode)},
          {"block_size_tokens", or_null(engine.block_size_tokens)},
          {"speculative_tokens", engine.speculative_tokens},
          {"memory_bytes", engine.memory_bytes},
          {"num_blocks", or_null(engine.num_blocks)},
          {"max_num_batched_tokens", engine.max_num_batched_tokens},
          {"concurrent_batches", engine.concurrent_batches.value_or(engine.rules->concurrent_batches)},
          {"prefix_match_unit_tokens", or_null(engine.prefix_match_unit_tokens)},
          {"cache_order", name_or_null(engine.cache_order)},
          {"hybrid_manager", engine.hybrid_manager}};
}

/// As it is set, else its standard; null where it has none and depends on other things.
Json told_value(const SettingKey& key, const OwnSettings& own) {
  const auto found = own.values().find(key.name);
  if (found == own.values().end() && !key.standard) return nullptr;
  const SettingValue value = found == own.values().end() ? SettingValue(*key.standard) : found->second;
  const std::int64_t* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return std::visit([](const auto& list) { return Json(list); }, value);
  if (key.type == SettingType::flag) return *number != 0;
  if (key.type == SettingType::choice) return key.choices[static_cast<std::size_t>(*number)];
  return *number;
}

/// What only this engine is set by, and how it shares its memory.
void add_own_setting(Json& setting, const EngineSpec& engine) {
  setting["max_running_requests"] = or_null(engine.max_running_requests);
  setting["state_memory_ratio"] = or_null(engine.state_memory_ratio);
  setting["own"] = Json::object();
  for (const OwnKey& own : engine.rules->own_keys)
    setting["own"][std::string(own.key->name)] = told_value(*own.key, engine.own);
}

Json told_backend(const ConformCase& one) {
  const ProfileFacts& facts = facts_of(one.engine.backend_profile.value_or(BackendProfile::sm80));
  const auto blocks = [](const KernelBlocks& of) {
    return Json{{"smallest_kernel_block", of.smallest},
                {"kernel_blocks", std::vector<std::int64_t>(of.listed.begin(), of.listed.end())}};
  };
  Json orders = Json::array();
  const auto is_read = [&](CacheOrder order) {
    return std::find(facts.orders.begin(), facts.orders.end(), order) != facts.orders.end();
  };
  if (one.model.cache_orders.empty())
    for (const CacheOrder order : facts.orders) orders.push_back(to_string(order));
  for (const CacheOrder order : one.model.cache_orders)
    if (is_read(order)) orders.push_back(to_string(order));
  return {{"name", facts.backend},
          {"heads", blocks(facts.attention)},
          {"latents", blocks(facts.latents)},
          {"orders", orders},
          {"gdn_checkpoint_tokens", facts.gdn_checkpoint_tokens},
          {"flash_kda", facts.flash_kda && one.model.kda_exports_states}};
}

/// Content and tokens of every part of every prompt.
Json told_prompts(const ConformCase& one) {
  Json prompts = Json::array();
  for (const ConformPrompt& prompt : one.prompts) {
    Json parts = Json::array();
    for (const PromptPart& part : prompt) parts.push_back({part.content, part.tokens});
    prompts.push_back(std::move(parts));
  }
  return prompts;
}

}  // namespace

Json conform_request(const ConformCase& one, std::int64_t id) {
  Json setting = told_setting(one);
  if (engine_of(*one.engine.rules).conformance->tells_own) add_own_setting(setting, one.engine);
  Json request{{"id", id},
               {"ask", "plan"},
               {"model", told_model(one)},
               {"engine", std::move(setting)},
               {"backend", told_backend(one)},
               {"max_model_len", one.max_model_len},
               {"prompts", told_prompts(one)}};
  if (!one.builder.empty()) request["builder"] = one.builder;
  return request;
}

}  // namespace hybridkv
