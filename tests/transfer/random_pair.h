#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/planner/random_specs.h"
#include "transfer/transfer_map.h"

/// Random deployments of one random model, and a request between them.
namespace hybridkv::testing {

/// More heads and channels than a tiny model has, so that up to eight ranks can share them.
inline void widen(ModelSpec& model, EngineSpec& engine) {
  using random_detail::pick;
  const std::int64_t by = pick(std::vector<std::int64_t>{1, 2, 4, 8});
  const auto widen_attention = [&](AttentionSpec& layer) {
    if (layer.kind != AttentionKind::mla) layer.kv_heads *= by;
    layer.query_heads *= by;
  };
  for (LayerSpec& layer : model.layers) {
    if (layer.attention) widen_attention(*layer.attention);
    if (!layer.recurrent) continue;
    if (auto* gdn = std::get_if<GdnSpec>(&*layer.recurrent)) {
      gdn->key_heads *= by;
      gdn->value_heads *= by;
    }
    if (auto* mamba2 = std::get_if<Mamba2Spec>(&*layer.recurrent)) {
      mamba2->heads *= by;
      if (by % 4 != 0) mamba2->groups *= by;  // else groups that ranks repeat
    }
  }
  if (engine.draft) widen_attention(engine.draft->attention);
}

/// An engine for the same model with other ranks, blocks, packs, orders and strategy.
inline EngineSpec other_engine(const RandomSpecs& specs, bool one_allocation) {
  using namespace random_detail;
  RandomSpecs other = specs;
  EngineSpec& engine = other.engine;
  engine.tensor_parallel = pick(std::vector<std::int64_t>{1, 2, 4, 8});
  engine.attention_pack_size = one_in(3) ? 1 : between(1, 6);
  engine.cache_mode = pick(std::vector{CacheMode::none, CacheMode::align});
  engine.kernel_block_sizes.clear();
  choose_views(engine);
  choose_blocks(engine, SpecSize::tiny);
  if (one_in(2)) engine.speculative_tokens = between(0, 3);
  choose_memory(other, SpecSize::tiny);
  if (one_allocation || one_in(6)) {
    choose_order(other);
    engine.pipeline_rank = 0;
  } else if (one_in(3)) {
    choose_strategy(other);
  }
  return engine;
}

struct RandomPair {
  TransferMap map;
  TransferRequest request;
};

struct DrawnPair {
  RandomSpecs specs;
  EngineSpec from, to;
  TransferOptions options;
  std::int64_t tokens = 0, present = 0;
  IdOrder from_order = IdOrder::scattered, to_order = IdOrder::scattered;
};

inline DrawnPair draw_pair() {
  using namespace random_detail;
  DrawnPair pair{.specs = draw(SpecSize::tiny)};
  RandomSpecs& specs = pair.specs;
  specs.engine.pad_heads = false;
  widen(specs.model, specs.engine);
  const bool one_allocation = one_in(4);
  pair.from = other_engine(specs, one_allocation);
  pair.to = other_engine(specs, one_allocation);
  if (one_in(4)) {
    pair.options.converts_dtypes = true;
    pair.from.kv_dtype = pick(std::vector{DType::fp32, DType::bf16, DType::fp16});
    for (EngineSpec* engine : {&pair.from, &pair.to}) {
      engine->conv_dtype = pick(std::vector{DType::bf16, DType::fp32});
      engine->ssm_dtype = pick(std::vector{DType::bf16, DType::fp32});
    }
    pair.to.kv_dtype = pick(std::vector{DType::fp32, DType::bf16, DType::fp8_e4m3});
  }
  if (one_in(3)) pair.from.conv_state_layout = pair.to.conv_state_layout = ConvStateLayout::ds;
  if (one_in(6)) {
    pair.options.exchanges_axes = true;
    pair.from.conv_state_layout = ConvStateLayout::ds;
    pair.to.conv_state_layout = ConvStateLayout::sd;
  }
  pair.tokens = between(1, 40);
  if (one_in(3)) pair.present = between(0, pair.tokens);
  const auto order = [] { return one_in(3) ? IdOrder::consecutive : IdOrder::scattered; };
  pair.from_order = order();
  pair.to_order = order();
  return pair;
}

/// How many pairs were refused, and how many of the others differ in what.
struct PairCounts {
  int refused = 0;
  std::map<std::string, int> of;
};

/// Nothing where the sides are refused.
inline std::optional<RandomPair> random_pair(PairCounts& counts) {
  const DrawnPair drawn = *rc::gen::resize(rc::kNominalSize, rc::gen::exec(draw_pair));
  const std::int64_t tokens = drawn.tokens;
  try {
    TransferSide source = make_side(drawn.specs.model, drawn.from, drawn.specs.limits);
    TransferSide target = make_side(drawn.specs.model, drawn.to, drawn.specs.limits);
    TransferRequest request{.tokens = tokens, .present_tokens = drawn.present};
    request.from = make_tables(source, tokens, drawn.from_order, 1);
    request.to = make_tables(target, tokens, drawn.to_order, 2);
    check_tables(source, request.from, tokens, "from");
    check_tables(target, request.to, tokens, "to");
    const auto count = [&](bool present, const std::string& what) { counts.of[what] += present; };
    count(drawn.from.tensor_parallel != drawn.to.tensor_parallel, "other TP");
    count(source.stages.front().strategy != target.stages.front().strategy, "other strategy");
    count(drawn.from.attention_pack_size != drawn.to.attention_pack_size, "other packs");
    count(std::ssize(source.stages) + std::ssize(target.stages) > 2, "pipeline");
    count(source.stages.front().cache_order.has_value() && target.stages.front().cache_order.has_value(), "orders");
    count(request.present_tokens > 0, "prefix there");
    count(drawn.options.exchanges_axes, "axes exchanged");
    return RandomPair{TransferMap(std::move(source), std::move(target), drawn.options), std::move(request)};
  } catch (const SpecError&) {
  } catch (const InputError&) {
  }
  ++counts.refused;
  return std::nullopt;
}

}  // namespace hybridkv::testing
