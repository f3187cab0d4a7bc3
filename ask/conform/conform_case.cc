#include "ask/conform/conform_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/random.h"
#include "planner/indexers.h"
#include "planner/plan.h"
#include "scenarios/model_library.h"

namespace hybridkv {

namespace {

/// One of each family, of each mixture of pages and of each way to share heads.
constexpr auto usual_models = std::to_array<std::string_view>(
    {"Qwen3.5-4B", "Qwen3.5-397B-A17B", "Nemotron-3-Nano-30B-A3B", "granite-4.0-h-small", "Falcon-H1-3B",
     "Kimi-Linear-48B-A3B", "Kimi-K3", "LFM2.5-1.2B", "Jamba-1.5-mini", "gpt-oss-20b", "Gemma-3-27B"});

constexpr std::int64_t usual_length = 32'768;

/// Attention to chunks and to an encoder is asked of the engine whose driver knows both.
bool is_told(const LayerSpec& layer, const Conformance& conformance) {
  if (layer.cross && !conformance.tells_chunks_and_encoders) return false;
  if (!layer.attention) return true;
  const AttentionKind kind = layer.attention->kind;
  return kind == AttentionKind::full || kind == AttentionKind::sliding_window || kind == AttentionKind::mla ||
         (kind == AttentionKind::chunked_local && conformance.tells_chunks_and_encoders);
}

std::vector<ModelSpec> models_of(const ConformGrid& grid, const Conformance& conformance) {
  if (!grid.models.empty()) return grid.models;
  const std::span<const std::string_view> names = conformance.models.empty() ? usual_models : conformance.models;
  std::vector<ModelSpec> models;
  for (const std::string_view name : names)
    if (const ShippedModel* shipped = find_shipped_model(std::string(name))) models.push_back(shipped->model);
  return models;
}

/// Its first layers, as many as have both states and K and V.
ModelSpec first_layers_of(const ModelSpec& model) {
  ModelSpec beginning = model;
  bool has_state = false, has_attention = false;
  std::size_t layers = 0;
  for (; layers < model.layers.size() && !(has_state && has_attention); ++layers) {
    has_state |= model.layers[layers].recurrent.has_value();
    has_attention |= model.layers[layers].attention.has_value();
  }
  beginning.layers.resize(layers);
  beginning.name = fmt::format("{}, first {} layers", model.name, layers);
  return beginning;
}

/// Lengths of a random case: a short one, the usual one, and one that no power of two is.
std::int64_t random_length(std::uint64_t key) {
  constexpr std::array<std::int64_t, 4> tried_lengths{8192, 32'768, 100'001, 262'144};
  return tried_lengths[mix(key) % tried_lengths.size()];
}

/// Cases of one engine, as they are added.
class CaseList {
 public:
  CaseList(const Engine& engine, std::vector<ConformCase>& cases) : engine_(engine), cases_(cases) {}

  /// With prompts by that key, where the engine does not compute them.
  void add(const ModelSpec& model, EngineSpec setting, std::int64_t length, std::uint64_t key) {
    add_case(model, std::move(setting), length);
    if (conformance_.computed == nullptr) add_prompts(key);
  }
  /// With prompts, which the engine may compute.
  void add_replay(const ModelSpec& model, EngineSpec setting, std::int64_t length, std::uint64_t key) {
    add_case(first_layers_of(model), std::move(setting), length);
    add_prompts(key);
  }

  /// Under rules that the engine follows with a plug-in, where one is written of them.
  void add_built(const ModelSpec& model, EngineSpec setting, std::int64_t length, std::uint64_t key) {
    setting.rules = engine_.rules;
    try {
      const CachePlan plan = make_plan(model, setting, {.max_model_lens = {length}}, {}, PlanDetail::numbers);
      std::string builder = engine_.emit({plan, model, setting, "conform", EmitParts::module, {}}).front().text;
      add(model, std::move(setting), length, key);
      cases_.back().builder = std::move(builder);
    } catch (const InputError&) {  // what has no plan, or no plug-in
    }
  }

 private:
  void add_case(ModelSpec model, EngineSpec setting, std::int64_t length) {
    setting.rules = engine_.rules;
    cases_.push_back({std::move(model), std::move(setting), length, {}, {}});
  }
  void add_prompts(std::uint64_t key) {
    ConformCase& last = cases_.back();
    last.prompts = conform_prompts(key, std::min(conformance_.longest_prompt, last.max_model_len - 1));
  }

  const Engine& engine_;
  const Conformance& conformance_ = *engine_.conformance;
  std::vector<ConformCase>& cases_;
};

}  // namespace

std::string ConformCase::words() const {
  std::string text = fmt::format("{}, TP {}, {}", model.name, engine.tensor_parallel, to_string(engine.cache_mode));
  const auto add = [&](const auto& value, std::string_view before = "", std::string_view behind = "") {
    text += fmt::format(", {}{}{}", before, value, behind);
  };
  if (engine.backend_profile) add(to_string(*engine.backend_profile));
  if (engine.cache_order) add(to_string(*engine.cache_order));
  if (engine.kv_dtype) add(to_string(*engine.kv_dtype), "K and V in ");
  if (engine.ssm_dtype) add(to_string(*engine.ssm_dtype), "states in ");
  if (engine.block_size_tokens) add(*engine.block_size_tokens, "block ");
  if (engine.prefix_match_unit_tokens) add(*engine.prefix_match_unit_tokens, "match unit ");
  if (engine.attention_pack_size > 1) add(engine.attention_pack_size, "N = ");
  if (engine.layers_per_group) add(*engine.layers_per_group, "groups of ");
  if (engine.num_blocks) add(*engine.num_blocks, "", " blocks");
  if (engine.speculative_tokens > 0) add(engine.speculative_tokens, "drafts of ");
  if (engine.max_running_requests) add(*engine.max_running_requests, "", " sequences");
  if (!engine.hybrid_manager) add("no hybrid manager");
  for (const auto& [name, value] : engine.own.values())
    if (const auto* const number = std::get_if<std::int64_t>(&value)) add(*number, fmt::format("{} ", name));
  add(engine.max_num_batched_tokens, "steps of ");
  add(engine.memory_bytes, "", " bytes");
  add(max_model_len, "", " tokens");
  return text;
}

bool can_be_told(const ModelSpec& model, const Conformance& conformance) {
  const bool has_ring = model.extra_blocks_per_request > 0 || model.ring_tokens > 0;
  const auto is_told_beside = [&] {
    switch (conformance.tells_indexers) {
      case ToldIndexers::none: return !has_indexers(model) && !has_ring && model.cache_orders.empty();
      case ToldIndexers::one_with_ring: return !has_indexers(model) || has_one_indexer(model);
      case ToldIndexers::of_layers: return !has_ring;
    }
    return false;
  };
  return model.auxiliary.empty() && is_told_beside() &&
         std::all_of(model.layers.begin(), model.layers.end(),
                     [&](const LayerSpec& layer) { return is_told(layer, conformance); });
}

std::vector<ConformCase> conform_cases(const Engine& engine, const ConformGrid& grid) {
  const Conformance& conformance = *engine.conformance;
  const std::vector<ModelSpec> models = models_of(grid, conformance);
  std::vector<ConformCase> cases;
  CaseList list(engine, cases);
  for (const ModelSpec& model : models) {
    if (!can_be_told(model, conformance))
      throw InputError(fmt::format("--models {}: it keeps what the driver of this engine is not told of, such as rings "
                                   "or states of drafts; leave it out", model.name));
    for (const EngineSpec& setting : conformance.grid(model)) list.add(model, setting, usual_length, cases.size());
    if (conformance.built != nullptr)
      for (const EngineSpec& setting : conformance.built(model))
        list.add_built(model, setting, usual_length, cases.size());
    if (conformance.computed == nullptr) continue;
    for (const EngineSpec& setting : conformance.computed(model))
      list.add_replay(model, setting, usual_length, cases.size());
  }
  for (std::int64_t i = 0; i < grid.random; ++i) {
    const std::uint64_t key = mix(grid.seed, static_cast<std::uint64_t>(i));
    const ModelSpec& model = models[mix(key, 1) % models.size()];
    const std::int64_t length = random_length(mix(key, 3));
    const EngineSpec setting = conformance.random(model, mix(key, 2));
    if (conformance.computed != nullptr && i % 2 == 1)
      list.add_replay(model, setting, length, mix(key, 4));
    else
      list.add(model, setting, length, mix(key, 4));
  }
  return cases;
}

}  // namespace hybridkv
