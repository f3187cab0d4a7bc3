#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "engines/llama_cpp/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "planner/group_settings.h"
#include "planner/row_settings.h"

/// Random specs of models, engines and limits that engines could really be given, for the laws of a plan. Most of
/// them can be planned; the rest is refused for a reason a user could meet (ranks, kernel blocks, memory, load).
namespace hybridkv::testing {

struct RandomSpecs {
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits;
};

enum class SpecSize {
  real,  ///< models and memory as they are deployed
  tiny,  ///< few layers, heads and channels: every byte of some pages can be enumerated
};

enum class Strategies {
  first,           ///< the default alone
  all,
  one_allocation,  ///< of vLLM 0.33: six orders, backends, stages of a pipeline
};

namespace random_detail {

template <class T>
T pick(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

inline std::int64_t between(std::int64_t first, std::int64_t last) {
  return *rc::gen::inRange<std::int64_t>(first, last + 1);
}

inline bool one_in(int n) { return between(1, n) == n; }

inline std::int64_t dimension(SpecSize size, std::vector<std::int64_t> usual) {
  if (size == SpecSize::tiny) return between(1, 4);
  return one_in(8) ? between(1, 100) : pick(std::move(usual));
}

inline DType any_dtype() { return pick(std::vector<DType>(std::begin(all_dtypes), std::end(all_dtypes))); }
inline std::optional<DType> maybe_dtype() { return one_in(2) ? std::optional(any_dtype()) : std::nullopt; }

inline bool keeps_sizes_apart(BackendForm form) { return form == BackendForm::cpu || form == BackendForm::diff_kv; }

inline AttentionSpec attention(SpecSize size, const EngineSpec& engine) {
  AttentionSpec layer;
  const std::int64_t ranks = engine.tensor_parallel;
  layer.kv_heads = one_in(2) ? ranks * between(1, 4) : pick(std::vector<std::int64_t>{1, ranks});
  layer.head_size_k = layer.head_size_v = dimension(size, {64, 80, 128, 192, 256});
  if (keeps_sizes_apart(engine.backend_form) && one_in(2)) layer.head_size_v = dimension(size, {64, 96, 128});
  if (one_in(2)) layer.query_heads = std::lcm(layer.kv_heads, ranks) * between(1, 4);
  return layer;
}

inline AttentionSpec latent(SpecSize size) {
  AttentionSpec layer;
  layer.kind = AttentionKind::mla;
  layer.kv_heads = 1;
  layer.head_size_v = dimension(size, {256, 512});
  layer.head_size_k = layer.head_size_v + pick(std::vector<std::int64_t>{0, 1, 64});
  return layer;
}

inline AttentionSpec windowed(SpecSize size, const EngineSpec& engine, AttentionKind kind) {
  AttentionSpec layer = attention(size, engine);
  layer.kind = kind;
  layer.window_tokens = between(1, size == SpecSize::tiny ? 16 : 4096);
  return layer;
}

inline RecurrentSpec gdn(SpecSize size, std::int64_t ranks) {
  GdnSpec layer;
  layer.key_heads = ranks * between(1, size == SpecSize::tiny ? 2 : 8);
  layer.value_heads = layer.key_heads * between(1, 3);
  layer.key_head_dim = dimension(size, {64, 128});
  layer.value_head_dim = dimension(size, {64, 128});
  layer.conv_kernel = between(1, 5);
  return layer;
}

inline RecurrentSpec mamba2(SpecSize size, std::int64_t ranks) {
  Mamba2Spec layer;
  layer.groups = pick(std::vector<std::int64_t>{1, ranks, 2 * ranks});
  layer.heads = std::lcm(layer.groups, ranks) * between(1, size == SpecSize::tiny ? 3 : 32);
  layer.head_dim = dimension(size, {32, 64, 80, 128});
  layer.state_size = dimension(size, {64, 128, 256});
  layer.conv_kernel = between(1, 5);
  layer.chunk_size = size == SpecSize::tiny ? between(1, 8) : pick(std::vector<std::int64_t>{64, 128, 256});
  return layer;
}

inline void choose_views(EngineSpec& engine) {
  engine.backend_form = pick(std::vector{BackendForm::paged, BackendForm::paged, BackendForm::flex, BackendForm::cpu,
                                         BackendForm::diff_kv, BackendForm::kv_first, BackendForm::kv_first_unordered});
  const bool head_major = engine.backend_form == BackendForm::paged || engine.backend_form == BackendForm::kv_first;
  engine.physical_order = pick(std::vector{PhysicalOrder::nhd, PhysicalOrder::hnd,
                                           head_major ? PhysicalOrder::head_major : PhysicalOrder::nhd});
}

inline void choose_blocks(EngineSpec& engine, SpecSize size) {
  using Sizes = std::vector<std::int64_t>;
  const bool tiny = size == SpecSize::tiny;
  if (tiny)
    engine.kernel_alignment_tokens = pick(Sizes{1, 2, 4});
  else if (one_in(4))
    engine.kernel_alignment_tokens = pick(Sizes{1, 8, 32, 64, 128});
  if (tiny || one_in(4))
    engine.block_size_tokens =
        !tiny && one_in(4) ? between(1, 300) : engine.kernel_alignment_tokens.value_or(16) * between(1, tiny ? 3 : 16);
  if (one_in(3))
    engine.kernel_block_sizes = tiny ? pick(std::vector<Sizes>{{1}, {2, 1}, {1, 2, 4}, {3, 1}})
                                     : pick(std::vector<Sizes>{{16}, {16, 32, 64}, {64, 128}, {48, 16}, {128}});
  if (one_in(4)) engine.mamba_block_size_tokens = between(1, tiny ? 8 : 512);
  if (one_in(6)) engine.page_alignment_bytes = tiny ? between(1, 64) : pick(Sizes{64, 512, 4096});
}

inline void choose_memory(RandomSpecs& specs, SpecSize size) {
  const bool tiny = size == SpecSize::tiny;
  const std::int64_t longest = tiny ? 64 : 131'072;
  const std::int64_t lengths = between(1, 3);
  for (std::int64_t i = 0; i < lengths; ++i) specs.limits.max_model_lens.push_back(between(1, longest));
  if (one_in(4)) specs.limits.longest_prompt_tokens = between(1, longest);
  if (one_in(3)) {
    const std::int64_t requests = between(1, 3);
    for (std::int64_t i = 0; i < requests; ++i) specs.limits.load_tokens.push_back(between(1, longest / 16));
  }
  specs.engine.max_num_batched_tokens = between(1, tiny ? 32 : 16'384);
  if (one_in(6))
    specs.engine.num_blocks = between(1, tiny ? 400 : 40'000);
  else
    specs.engine.memory_bytes =
        tiny ? between(20'000, 2'000'000) : between(std::int64_t(4) << 30, std::int64_t(80) << 30);
}

/// What the layers of a model are drawn from.
struct LayerKinds {
  std::vector<AttentionSpec> attention;
  std::vector<RecurrentSpec> recurrent;
};

inline LayerKinds choose_kinds(SpecSize size, const EngineSpec& engine) {
  LayerKinds kinds;
  kinds.attention.push_back(one_in(6) ? latent(size) : attention(size, engine));
  if (one_in(5))
    kinds.attention.push_back(
        windowed(size, engine, pick(std::vector{AttentionKind::sliding_window, AttentionKind::chunked_local})));
  if (one_in(6)) kinds.attention.push_back(attention(size, engine));
  const std::int64_t ranks = engine.tensor_parallel;
  kinds.recurrent.push_back(one_in(2) ? gdn(size, ranks) : mamba2(size, ranks));
  if (one_in(6)) kinds.recurrent.push_back(one_in(2) ? gdn(size, ranks) : mamba2(size, ranks));
  return kinds;
}

inline void choose_layers(ModelSpec& model, SpecSize size, const LayerKinds& kinds) {
  enum class Shape { hybrid, hybrid_again, attention_only, recurrent_only, both };
  const Shape shape = pick(std::vector{Shape::hybrid, Shape::hybrid_again, Shape::attention_only, Shape::recurrent_only,
                                       Shape::both});
  const std::int64_t num_layers = between(1, size == SpecSize::tiny ? 8 : 64);
  const std::int64_t every = between(2, 8);
  for (std::int64_t i = 0; i < num_layers; ++i) {
    LayerSpec layer;
    const bool attends = shape == Shape::attention_only || shape == Shape::both ||
                         (shape != Shape::recurrent_only && i % every == every - 1);
    const bool recurs = shape == Shape::recurrent_only || shape == Shape::both || !attends;
    if (attends) layer.attention = pick(kinds.attention);
    if (recurs && shape != Shape::attention_only) layer.recurrent = pick(kinds.recurrent);
    model.layers.push_back(layer);
    if (one_in(8)) model.layers.emplace_back();  // an MLP: no cache
  }
}

/// What of an engine whose rules are read is told; the model may still be none that is planned for it.
inline void choose_source_only_engine(EngineSpec& engine) {
  const bool rows = engine.strategy == Strategy::sequence_rows;
  const EngineSpec drawn = engine;
  engine = {.rules = rows ? &rules_of_llama_cpp : &rules_of_tensorrt_llm,
            .tensor_parallel = drawn.tensor_parallel,
            .pad_heads = drawn.pad_heads,
            .kv_dtype = drawn.kv_dtype,
            .conv_dtype = drawn.conv_dtype,
            .ssm_dtype = drawn.ssm_dtype,
            .strategy = drawn.strategy,
            .cache_mode = drawn.cache_mode == CacheMode::all ? CacheMode::align : drawn.cache_mode,
            .physical_order = pick(std::vector{PhysicalOrder::nhd, PhysicalOrder::hnd}),
            .memory_bytes = drawn.memory_bytes,
            .num_blocks = drawn.num_blocks,
            .max_num_batched_tokens = drawn.max_num_batched_tokens};
  // Neither grains nor 256 cells come out of a little memory.
  if (engine.memory_bytes < std::int64_t(1) << 30 && !engine.num_blocks) engine.num_blocks = between(1, 400);
  if (one_in(3)) engine.max_running_requests = between(1, 20);
  if (rows) {
    engine.kv_dtype = pick(std::vector<std::optional<DType>>{std::nullopt, DType::fp16, DType::bf16, DType::fp32});
    engine.speculative_tokens = one_in(3) ? between(1, 7) : 0;
    if (one_in(3)) engine.own.set(row_key::ctx_checkpoints, between(0, 40));
    if (one_in(3)) engine.own.set(row_key::kv_unified, one_in(2));
    if (one_in(3)) engine.own.set(row_key::batch_size, between(1, 4096));
    if (one_in(3)) engine.own.set(row_key::cache_ram, between(-1, 64));
    return;
  }
  if (!engine.max_running_requests) engine.own.set(group_key::max_batch_size, between(1, 4));
  if (one_in(2)) engine.block_size_tokens = pick(std::vector<std::int64_t>{2, 16, 64});
  if (one_in(3)) engine.own.set(group_key::avg_seq_len, between(1, 100'000));
  if (one_in(2)) engine.own.set(group_key::periodic_snapshot_interval, between(1, 2000));
  if (one_in(5)) return engine.own.set(group_key::use_kv_cache_manager_v2, false);
  if (one_in(4)) engine.state_memory_ratio = static_cast<double>(between(1, 40)) / 10;
  if (one_in(2)) engine.own.set(group_key::offsets_from_end, {0, between(0, 100)});
  if (one_in(4)) engine.own.set(group_key::enable_partial_reuse, false);
}

/// Attention of whole sequences, states, and nothing else.
inline bool is_plain_hybrid(const ModelSpec& model) {
  bool attention = false, states = false, plain = true;
  for (const LayerSpec& layer : model.layers) {
    attention = attention || layer.attention;
    states = states || layer.recurrent;
    plain = plain && !(layer.attention && layer.attention->window_tokens > 0);
  }
  return attention && states && plain;
}

inline void choose_strategy(RandomSpecs& specs) {
  EngineSpec& engine = specs.engine;
  engine.strategy = pick(std::vector<Strategy>(all_strategies.begin(), all_strategies.end()));
  if (keeps_tensors_apart(engine.strategy)) {
    if (is_plain_hybrid(specs.model)) return choose_source_only_engine(engine);
    engine.strategy = Strategy::packed_attention;
  }
  if (engine.strategy == Strategy::two_level && !one_in(20)) engine.attention_pack_size = 1;
  if (!splits_memory(engine.strategy)) return;
  if (one_in(2)) engine.state_memory_ratio = static_cast<double>(between(1, 40)) / 10;
  else if (one_in(4)) engine.state_requests = between(1, 20);
}

/// What the release with one allocation knows, in an order that most layers can lie in.
inline void choose_order(RandomSpecs& specs) {
  EngineSpec& engine = specs.engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.attention_pack_size = 1;
  engine.mamba_block_size_tokens.reset();
  if (one_in(2)) engine.kernel_block_sizes.clear();
  if (engine.cache_mode == CacheMode::all) engine.cache_mode = CacheMode::align;
  const std::optional<AttentionSpec>& first = specs.model.layers.front().attention;
  const bool differs = std::any_of(specs.model.layers.begin(), specs.model.layers.end(), [&](const LayerSpec& layer) {
    if (layer.recurrent || !first) return true;
    return layer.attention && (layer.attention->kv_heads != first->kv_heads ||
                               layer.attention->head_size_k != first->head_size_k);
  });
  const std::vector of_hybrids{CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc};
  const std::vector all(all_cache_orders.begin(), all_cache_orders.end());
  if (!one_in(6)) engine.cache_order = pick(differs || engine.draft ? of_hybrids : all);
  if (one_in(6)) {
    engine.cache_order.reset();
    std::vector profiles(all_backend_profiles.begin(), all_backend_profiles.end());
    const bool latents = std::any_of(specs.model.layers.begin(), specs.model.layers.end(), [](const LayerSpec& layer) {
      return layer.attention && layer.attention->kind == AttentionKind::mla;
    });
    if (!latents) std::erase_if(profiles, [](BackendProfile one) { return facts_of(one).without_latents.has_value(); });
    engine.backend_profile = pick(profiles);
  }
  if (one_in(4)) {
    engine.pipeline_parallel = between(1, std::min<std::int64_t>(3, std::ssize(specs.model.layers)));
    engine.pipeline_rank = between(0, engine.pipeline_parallel - 1);
  }
}

inline RandomSpecs draw(SpecSize size) {
  RandomSpecs specs;
  EngineSpec& engine = specs.engine;
  specs.model.name = "random";
  specs.model.dtype = pick(std::vector{DType::bf16, DType::fp16, DType::fp32});
  if (one_in(3)) specs.model.ssm_dtype = DType::fp32;
  engine.tensor_parallel = pick(std::vector<std::int64_t>{1, 1, 2, 3, 4, 8});
  if (size == SpecSize::tiny) engine.tensor_parallel = pick(std::vector<std::int64_t>{1, 2});
  engine.kv_dtype = maybe_dtype();
  engine.conv_dtype = maybe_dtype();
  engine.ssm_dtype = maybe_dtype();
  engine.cache_mode = pick(std::vector{CacheMode::none, CacheMode::align, CacheMode::all});
  engine.attention_pack_size = one_in(4) ? 1 : between(1, 16);
  engine.token_rule = pick(std::vector{TokenRule::concurrency, TokenRule::floor});
  if (one_in(2)) engine.speculative_tokens = between(1, 7);
  choose_views(engine);
  choose_blocks(engine, size);
  const LayerKinds kinds = choose_kinds(size, engine);
  choose_layers(specs.model, size, kinds);
  const bool has_main = std::any_of(specs.model.layers.begin(), specs.model.layers.end(), [&](const LayerSpec& layer) {
    return layer.attention == kinds.attention.front();
  });
  if (has_main && one_in(4)) engine.mtp_layers = between(1, 3);
  if (one_in(6)) engine.draft = DraftSpec{between(1, 8), windowed(size, engine, AttentionKind::sliding_window)};
  if (engine.draft && one_in(3)) {
    engine.draft->attention.kind = AttentionKind::full;
    engine.draft->attention.window_tokens = 0;
  }
  if (one_in(8)) engine.layers_per_group = between(1, 4);  // may be more than any group would have
  if (one_in(40)) engine.tensor_parallel = between(1, 16);  // may fit neither heads nor channels
  engine.pad_heads = one_in(4);
  choose_memory(specs, size);
  return specs;
}

}  // namespace random_detail

inline rc::Gen<RandomSpecs> random_specs(SpecSize size = SpecSize::real) {
  // At full size from the first case on: ranges would else start at their lower ends, and rare features be rarer.
  return rc::gen::resize(rc::kNominalSize, rc::gen::exec([size] { return random_detail::draw(size); }));
}

/// What is special about these specs, for counting how often each case occurred.
inline std::vector<std::string> features(const RandomSpecs& specs) {
  std::vector<std::string> found;
  const auto add = [&](bool present, const std::string& name) {
    if (present) found.push_back(name);
  };
  std::vector<AttentionSpec> attention;
  std::vector<RecurrentSpec> recurrent;
  bool both = false;
  const auto collect = [](auto& list, const auto& item) {
    if (item && std::find(list.begin(), list.end(), *item) == list.end()) list.push_back(*item);
  };
  for (const LayerSpec& layer : specs.model.layers) {
    collect(attention, layer.attention);
    collect(recurrent, layer.recurrent);
    both = both || (layer.attention && layer.recurrent);
  }
  add(recurrent.empty(), "attention only");
  add(attention.empty(), "states only");
  add(both, "both kinds in one layer");
  add(attention.size() > 1, "several attention specs");
  add(recurrent.size() > 1, "several recurrent specs");
  for (const RecurrentSpec& layer : recurrent) add(true, std::string(family_name(layer)));
  for (const AttentionSpec& layer : attention) {
    add(true, std::string(to_string(layer.kind)));
    add(layer.head_size_k != layer.head_size_v && layer.kind != AttentionKind::mla, "K and V differ");
  }
  const EngineSpec& engine = specs.engine;
  add(engine.mtp_layers > 0, "MTP");
  add(engine.draft.has_value(), "draft");
  add(engine.draft && engine.draft->attention.kind == AttentionKind::full, "draft of full attention");
  add(engine.layers_per_group.has_value(), "layers per group");
  add(engine.pad_heads, "heads may be padded");
  add(engine.speculative_tokens > 0, "speculation");
  add(engine.tensor_parallel > 1, "TP > 1");
  add(engine.attention_pack_size > 1, "N > 1");
  add(engine.attention_pack_size > 8, "N > 8");
  add(true, "mode " + std::string(to_string(engine.cache_mode)));
  add(true, "form " + std::string(to_string(engine.backend_form)));
  add(true, "order " + std::string(to_string(engine.physical_order)));
  add(!engine.kernel_block_sizes.empty(), "kernel block list");
  add(engine.kernel_alignment_tokens.value_or(16) != 16, "grain of the backend");
  add(engine.page_alignment_bytes != 1, "aligned pages");
  add(engine.block_size_tokens.has_value(), "user block");
  add(engine.mamba_block_size_tokens.has_value(), "user mamba block");
  add(engine.num_blocks.has_value(), "num_blocks");
  add(!specs.limits.load_tokens.empty(), "load");
  return found;
}

inline std::ostream& operator<<(std::ostream& os, const AttentionSpec& layer) {
  return os << to_string(layer.kind) << "(q " << layer.query_heads << ", kv " << layer.kv_heads << " x "
            << layer.head_size_k << "/" << layer.head_size_v << ", window " << layer.window_tokens << ")";
}

inline std::ostream& operator<<(std::ostream& os, const RecurrentSpec& layer) {
  if (const auto* gdn = std::get_if<GdnSpec>(&layer))
    return os << "gdn(" << gdn->key_heads << "/" << gdn->value_heads << " x " << gdn->key_head_dim << "/"
              << gdn->value_head_dim << ", conv " << gdn->conv_kernel << ")";
  const auto* mamba2 = std::get_if<Mamba2Spec>(&layer);
  if (!mamba2) return os << family_name(layer);
  const Mamba2Spec& mamba = *mamba2;
  return os << "mamba2(" << mamba.heads << " x " << mamba.head_dim << ", state " << mamba.state_size << ", groups "
            << mamba.groups << ", conv " << mamba.conv_kernel << ", chunk " << mamba.chunk_size << ")";
}

/// Everything needed to write the specs down again in a regression test.
inline std::ostream& operator<<(std::ostream& os, const RandomSpecs& specs) {
  const auto number = [&](const char* name, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
      os << " " << name << "=" << value;
    else if (value)
      os << " " << name << "=" << *value;
  };
  const auto dtype = [&](const char* name, const std::optional<DType>& value) {
    if (value) os << " " << name << "=" << to_string(*value);
  };
  const auto list = [&](const char* name, const std::vector<std::int64_t>& values) {
    for (std::int64_t value : values) os << " " << name << "=" << value;
  };
  const EngineSpec& engine = specs.engine;
  os << "model " << to_string(specs.model.dtype);
  dtype("model.ssm", specs.model.ssm_dtype);
  for (const LayerSpec& layer : specs.model.layers) {
    os << "\n  layer";
    if (layer.attention) testing::operator<<(os << " ", *layer.attention);
    if (layer.recurrent) testing::operator<<(os << " ", *layer.recurrent);
  }
  os << "\nengine";
  number("tp", engine.tensor_parallel);
  dtype("kv", engine.kv_dtype);
  dtype("conv", engine.conv_dtype);
  dtype("ssm", engine.ssm_dtype);
  os << " strategy=" << to_string(engine.strategy);
  number("ratio", engine.state_memory_ratio);
  number("state_requests", engine.state_requests);
  os << " mode=" << to_string(engine.cache_mode) << " form=" << to_string(engine.backend_form)
     << " order=" << to_string(engine.physical_order) << " rule=" << to_string(engine.token_rule);
  number("N", engine.attention_pack_size);
  number("g", engine.layers_per_group);
  number("pad_heads", engine.pad_heads);
  number("block", engine.block_size_tokens);
  number("mamba_block", engine.mamba_block_size_tokens);
  number("alignment", engine.kernel_alignment_tokens.value_or(16));
  number("page_alignment", engine.page_alignment_bytes);
  list("kernel_block", engine.kernel_block_sizes);
  os << " release=" << engine.rules->name;
  if (engine.cache_order) os << " cache_order=" << to_string(*engine.cache_order);
  if (engine.backend_profile) os << " profile=" << to_string(*engine.backend_profile);
  for (const std::string& text : supposed_texts(engine.what_if)) os << " what_if." << text;
  number("pp", engine.pipeline_parallel);
  number("pp_rank", engine.pipeline_rank);
  number("s", engine.speculative_tokens);
  number("mtp", engine.mtp_layers);
  if (engine.draft) testing::operator<<(os << " draft=" << engine.draft->layers << " x ", engine.draft->attention);
  number("memory", engine.memory_bytes);
  number("num_blocks", engine.num_blocks);
  number("batched", engine.max_num_batched_tokens);
  os << "\nlimits";
  list("max_model_len", specs.limits.max_model_lens);
  number("longest_prompt", specs.limits.longest_prompt_tokens);
  list("load", specs.limits.load_tokens);
  return os;
}

/// Found by rapidcheck when it prints a counterexample.
inline void showValue(const RandomSpecs& specs, std::ostream& os) { os << specs; }

inline CachePlan plan_of(const RandomSpecs& specs) { return make_plan(specs.model, specs.engine, specs.limits); }

/// Checks a property on exactly `count` cases; a case that calls RC_DISCARD does not count. The seed is fixed, so that
/// a failure is met again; RC_PARAMS="seed=…" takes another one.
template <class Property>
bool check_times(const std::string& name, int count, Property property) {
  rc::detail::TestParams params;
  params.seed = std::getenv("RC_PARAMS") ? rc::detail::configuration().testParams.seed : 35703;
  params.maxSuccess = count;
  rc::detail::TestMetadata metadata{name, name};
  std::cerr << "- " << name << ": ";
  const auto result = rc::detail::checkTestable(property, metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << std::endl;
  return result.template is<rc::detail::SuccessResult>();
}

/// Checks a law, called with the specs and their plan, on exactly `count` plans of random specs. Specs that are
/// refused do not count; fails too where more than one in three is.
template <class Law>
bool check_plans(const std::string& name, int count, SpecSize size, Law law,
                 Strategies strategies = Strategies::first) {
  int refused = 0;
  const bool holds = check_times(name, count, [&] {
    RandomSpecs specs = *random_specs(size);
    if (strategies == Strategies::all) random_detail::choose_strategy(specs);
    if (strategies == Strategies::one_allocation) random_detail::choose_order(specs);
    std::optional<CachePlan> plan;
    try {
      plan = plan_of(specs);
    } catch (const SpecError&) {
      ++refused;
    }
    if (!plan) RC_DISCARD("refused");
    law(specs, *plan);
  });
  std::cerr << "  " << count << " plans, " << refused << " specs refused" << std::endl;
  return holds && refused * 3 <= count;
}

}  // namespace hybridkv::testing
