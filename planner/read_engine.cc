#include "planner/read_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t default_interval = 256, default_block = 32, default_sequences = 4;

std::string title_of(const EngineSpec& engine) { return std::string(engine.rules->title); }

void refuse(const EngineSpec& engine, bool set, const char* key, const char* instead) {
  if (set) throw SpecError(key, fmt::format("{} has no such setting; {}", title_of(engine), instead));
}

/// What neither of the two is told, or is planned with.
void refuse_common_keys(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  if (engine.strategy != rules.strategy)
    throw SpecError("engine.strategy", fmt::format("{} has no {}; its strategy is {}", rules.title,
                                                   to_string(engine.strategy), to_string(rules.strategy)));
  refuse(engine, engine.attention_pack_size != 1, "engine.attention_pack_size", "each layer has pages of its own: 1");
  refuse(engine, engine.layers_per_group.has_value(), "engine.layers_per_group", "leave it out");
  refuse(engine, engine.mamba_block_size_tokens.has_value(), "engine.mamba_block_size_tokens", "leave it out");
  refuse(engine, engine.kernel_alignment_tokens.has_value(), "engine.kernel_alignment_tokens", "leave it out");
  refuse(engine, !engine.kernel_block_sizes.empty(), "engine.kernel_block_sizes", "leave it out");
  refuse(engine, engine.page_alignment_bytes != 1, "engine.page_alignment_bytes", "its pages are not aligned");
  refuse(engine, engine.backend_profile.has_value(), "engine.backend_profile", "leave it out");
  refuse(engine, engine.concurrent_batches.has_value(), "engine.concurrent_batches", "leave it out");
  refuse(engine, engine.state_requests.has_value(), "engine.state_requests", "take engine.max_running_requests");
  refuse(engine, engine.hidden_state_size != 0, "engine.hidden_state_size", "leave it out");
  refuse(engine, engine.token_rule != TokenRule::concurrency, "engine.token_rule", "leave it out");
  refuse(engine, engine.physical_order == PhysicalOrder::head_major, "engine.physical_order", "take nhd or hnd");
  refuse(engine, engine.backend_form != BackendForm::paged, "engine.backend_form", "leave it out");
  refuse(engine, engine.kv_format.has_value(), "engine.kv_dtype", "K and V have an element type here");
  const auto unplanned = [&](bool set, const char* key) {
    if (set) throw SpecError(key, fmt::format("is not planned for {}; leave it out", rules.title));
  };
  unplanned(engine.draft.has_value(), "engine.draft");
  unplanned(engine.mtp_layers > 0, "engine.mtp_layers");
  if (const auto& requests = engine.max_running_requests; requests && (*requests < 1 || *requests > largest_count))
    throw SpecError("engine.max_running_requests", fmt::format("is {}; allowed: 1 to {}", *requests, largest_count));
}

void validate_snapshots(const EngineSpec& engine) {
  const auto positive = [](const std::optional<std::int64_t>& value, const char* key) {
    if (value && (*value < 1 || *value > largest_tokens))
      throw SpecError(key, fmt::format("is {}; allowed: 1 to {}", *value, largest_tokens));
  };
  positive(engine.mamba_state_cache_interval, "engine.mamba_state_cache_interval");
  positive(engine.avg_seq_len, "engine.avg_seq_len");
  if (engine.speculative_tokens > 0)
    throw SpecError("engine.speculative_tokens",
                    fmt::format("the states of draft steps of {} are not planned; leave it out", title_of(engine)));
  const std::int64_t block = engine.block_size_tokens.value_or(default_block);
  if ((block & (block - 1)) != 0 || block < 2)
    throw SpecError("engine.block_size_tokens",
                    fmt::format("is {}; tokens_per_block of {} is a power of two above 1, 32 unless set", block,
                                title_of(engine)));
  if (engine.mamba_state_cache_interval && engine.cache_mode != CacheMode::all)
    throw SpecError("engine.mamba_state_cache_interval",
                    fmt::format("keeps a snapshot every {} tokens, which is mode all, not {}; set engine.cache_mode: "
                                "all, or leave it out",
                                *engine.mamba_state_cache_interval, to_string(engine.cache_mode)));
  if (engine.cache_mode == CacheMode::all && snapshot_interval(engine) % block != 0)
    throw SpecError("engine.mamba_state_cache_interval",
                    fmt::format("is {}; it must be a multiple of the block of {} tokens", snapshot_interval(engine),
                                block));
  if (engine.state_memory_ratio && engine.cache_mode == CacheMode::all)
    throw SpecError("engine.state_memory_ratio", "periodic snapshots take their part by "
                                                 "engine.mamba_state_cache_interval; leave it out, or take mode align");
}

void validate_rows(const EngineSpec& engine) {
  refuse(engine, engine.block_size_tokens.has_value(), "engine.block_size_tokens", "its cells hold one token");
  refuse(engine, engine.state_memory_ratio.has_value(), "engine.state_memory_ratio",
         "rows are by engine.max_running_requests");
  for (const auto& [value, key] : {std::pair{&engine.ctx_checkpoints, "engine.ctx_checkpoints"},
                                   std::pair{&engine.checkpoint_min_step, "engine.checkpoint_min_step"}})
    if (*value && (**value < 0 || **value > largest_count))
      throw SpecError(key, fmt::format("is {}; allowed: 0 to {}", **value, largest_count));
}

void validate_model(const ModelSpec& model, const EngineSpec& engine) {
  bool attention = false, states = false;
  for (const LayerSpec& layer : model.layers) {
    attention = attention || layer.attention.has_value();
    states = states || layer.recurrent.has_value();
    if (!layer.attention) continue;
    if (layer.attention->window_tokens > 0)
      throw SpecError("engine.release", fmt::format("pools of {} for layers with a window are not planned; take "
                                                    "another release", title_of(engine)));
    if (layer.attention->kind != AttentionKind::mla && layer.attention->head_size_k != layer.attention->head_size_v)
      throw SpecError("engine.release",
                      fmt::format("layers of {} whose K and V differ in size are not planned; take another release",
                                  title_of(engine)));
  }
  if (!attention || !states)
    throw SpecError("engine.release",
                    fmt::format("{} is planned for models with attention and recurrent layers; {} has no {}",
                                title_of(engine), model.name, attention ? "recurrent ones" : "attention"));
  if (!model.auxiliary.empty() || model.indexer_bytes_per_token > 0 || model.extra_blocks_per_request > 0 ||
      model.ring_tokens > 0)
    throw SpecError("engine.release",
                    fmt::format("{} is not planned for {}, which caches more than K, V and the states of its layers; "
                                "take another release", title_of(engine), model.name));
}

const char* name_of(const SpecPlan& spec, const GroupPlan& group) {
  return group.tensor ? spec.state->tensors[static_cast<std::size_t>(*group.tensor)].name.c_str() : "kv";
}

}  // namespace

void validate_pool_groups(const ModelSpec& model, const EngineSpec& engine) {
  refuse_common_keys(engine);
  validate_snapshots(engine);
  validate_model(model, engine);
}

void validate_sequence_rows(const ModelSpec& model, const EngineSpec& engine) {
  refuse_common_keys(engine);
  validate_rows(engine);
  validate_model(model, engine);
}

std::int64_t snapshot_interval(const EngineSpec& engine) {
  return engine.mamba_state_cache_interval.value_or(default_interval);
}

std::int64_t sequences_of(const EngineSpec& engine) {
  return engine.max_running_requests.value_or(default_sequences);
}

BlockSizes read_block_sizes(const EngineSpec& engine, const DerivationLog& log) {
  const bool blocks = engine.rules->strategy == Strategy::pool_groups;
  BlockSizes sizes{1, 1};
  if (blocks) sizes.attention = sizes.state = engine.block_size_tokens.value_or(default_block);
  if (blocks && engine.cache_mode == CacheMode::all) sizes.state = snapshot_interval(engine);
  const std::string source = title_of(engine) + ", read";
  log.add([&] {
    return Decision{{"B", sizes.attention, "tokens"},
                    blocks ? "B = tokens_per_block, as set or 32" : "1: a cell holds one token", {}, source};
  });
  log.add([&] {
    return Decision{{"C", sizes.state, "tokens"},
                    !blocks                              ? "1: rows belong to a sequence, whatever its length"
                    : engine.cache_mode == CacheMode::all ? "C = interval: periodic snapshots"
                                                          : "C = B: a snapshot is found again at whole blocks",
                    {}, source};
  });
  return sizes;
}

void derive_own_pages(Arrangement& arrangement, const DerivationLog& log) {
  const std::string source = std::string(arrangement.rules->title) + ", read";
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
