#include "planner/tensor_pool_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/cell_types.h"
#include "planner/indexers.h"
#include "planner/row_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t default_sequences = 4;

std::string title_of(const EngineSpec& engine) { return std::string(engine.rules->title); }

void validate_requests(const EngineSpec& engine) {
  if (const auto requests = engine.max_running_requests; requests && (*requests < 1 || *requests > largest_count))
    throw SpecError("engine.max_running_requests", fmt::format("is {}; allowed: 1 to {}", *requests, largest_count));
}

const char* name_of(const SpecPlan& spec, const GroupPlan& group) {
  return group.tensor ? spec.state->tensors[static_cast<std::size_t>(*group.tensor)].name.c_str() : "kv";
}

void refuse_more_than_layers(const ModelSpec& model, const EngineSpec& engine) {
  if (!model.auxiliary.empty() || has_indexers(model) || model.extra_blocks_per_request > 0 ||
      model.ring_tokens > 0)
    throw SpecError("engine.release",
                    fmt::format("{} is not planned for {}, which caches more than K, V and the states of its layers; "
                                "take another release", title_of(engine), model.name));
}

}  // namespace

void refuse_unlike_hybrids(const ModelSpec& model, const EngineSpec& engine) {
  bool attention = false, states = false;
  for (const LayerSpec& layer : model.layers) {
    attention = attention || layer.attention.has_value();
    states = states || layer.recurrent.has_value();
    if (layer.attention && layer.attention->window_tokens > 0 && engine.strategy != Strategy::sequence_rows)
      throw SpecError("engine.release",
                      fmt::format("pools of {} for layers with a window are not planned{}; take another release",
                                  title_of(engine),
                                  engine.rules->source_only ? "" : ": their rules are read, not run"));
  }
  if (!attention || !states)
    throw SpecError("engine.release",
                    fmt::format("{} is planned for models with attention and recurrent layers; {} has no {}; take "
                                "another release",
                                title_of(engine), model.name, attention ? "recurrent ones" : "attention"));
}

void refuse_unplanned_layers(const ModelSpec& model, const EngineSpec& engine) {
  refuse_unlike_hybrids(model, engine);
  refuse_more_than_layers(model, engine);
  for (const LayerSpec& layer : model.layers)
    if (layer.attention && layer.attention->kind != AttentionKind::mla &&
        layer.attention->head_size_k != layer.attention->head_size_v)
      throw SpecError("engine.release",
                      fmt::format("layers of {} whose K and V differ in size are not planned; take another release",
                                  title_of(engine)));
}

void validate_sequence_rows(const ModelSpec& model, const EngineSpec& engine) {
  validate_requests(engine);
  refuse_unplanned_layers(model, engine);
  for (const LayerSpec& layer : model.layers) {
    if (!layer.attention) continue;
    const bool chunks = layer.attention->kind == AttentionKind::chunked_local;
    if (chunks || (layer.attention->kind == AttentionKind::mla && layer.attention->window_tokens > 0))
      throw SpecError("engine.release", fmt::format("{} is not planned for {}; take another release", title_of(engine),
                                                    chunks ? "chunks of attention" : "latents with a window"));
  }
  cell_types_of(engine);
}

std::int64_t sequences_of(const EngineSpec& engine) {
  return engine.max_running_requests.value_or(default_sequences);
}

BlockSizes tensor_pool_block_sizes(const EngineSpec& engine, const DerivationLog& log) {
  const BlockSizes sizes{1, 1};
  const std::string source = cited(*engine.rules, RuleOf::cells);
  log.add([&] { return Decision{{"B", sizes.attention, "tokens"}, "1: a cell holds one token", {}, source}; });
  log.add([&] {
    return Decision{{"C", sizes.state, "tokens"}, "1: rows belong to a sequence, whatever its length", {}, source};
  });
  return sizes;
}

void derive_own_pages(Arrangement& arrangement, const DerivationLog& log) {
  const std::string source = cited(*arrangement.rules, arrangement.rows ? RuleOf::cells : RuleOf::pool_groups);
  const auto add = [&](std::string symbol, const SpecPlan& spec, std::int64_t value, const char* unit, std::string rule,
                       std::vector<Term> inputs) {
    log.add([&] {
      return Decision{{symbol + " of " + spec_label(spec), value, unit}, std::move(rule), std::move(inputs), source};
    });
  };
  for (SpecPlan& spec : arrangement.specs) {
    spec.padding_percent = 0;
    std::int64_t groups = 0;
    for (const GroupPlan& group : arrangement.groups) groups += group.spec == spec.id ? 1 : 0;
    add("groups", spec, groups, "", spec.state ? "a group a tensor of the state; they share a table"
                                               : "1: all layers share a table", {});
    log.add([&] {
      return Decision{{"padding of " + spec_label(spec), spec.padding_percent, "%"}, "0: nothing is padded", {},
                      source};
    });
  }
  for (const ArenaPlan& arena : arrangement.arenas)
    log.add([&] {
      return Decision{{"bytes of all ids of " + arena.name, Checked(arena.num_ids) * arena.bytes_per_id, "bytes"},
                      "bytes = ids * bytes of an id",
                      {{"ids", arena.num_ids, "ids"}, {"bytes of an id", arena.bytes_per_id, "bytes"}}, source};
    });
  for (const GroupPlan& group : arrangement.groups) {
    const SpecPlan& spec = arrangement.spec_of(group);
    const LanePlan& lane = arrangement.lanes[group.first_lane.index()];
    const Term page{"page", lane.bytes, "bytes"};
    add("page", spec, lane.bytes, "bytes",
        spec.state ? fmt::format("page = {} of one layer", name_of(spec, group)) : "page = block * a1",
        spec.state ? std::vector<Term>{}
                   : std::vector<Term>{{"block", spec.block_size_tokens, "tokens"},
                                       {"a1", spec.bytes_per_token, "bytes"}});
    add("step", spec, lane.stride, "bytes",
        lane.stride == lane.bytes ? fmt::format("step = page: {} of a layer lies alone", name_of(spec, group))
                                  : fmt::format("step = pages * page: {} of all layers of an id lies side by side",
                                                name_of(spec, group)),
        {{"pages", static_cast<std::int64_t>(group.pages.size()), ""}, page});
  }
}

}  // namespace hybridkv
