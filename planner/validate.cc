#include "planner/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/error.h"
#include "planner/advised_release.h"
#include "planner/encoder_tokens.h"
#include "planner/taken_keys.h"

namespace hybridkv {

namespace {

void at_least(std::int64_t smallest, std::int64_t value, const std::string& path) {
  if (value < smallest) throw SpecError(path, fmt::format("must be at least {}, is {}", smallest, value));
}

void in_range(std::int64_t smallest, std::int64_t largest, std::int64_t value, const std::string& path) {
  at_least(smallest, value, path);
  if (value > largest)
    throw SpecError(path, fmt::format("{} is too large; allowed: {} to {}", value, smallest, largest));
}

void dimension(std::int64_t value, const std::string& path) { in_range(1, largest_dimension, value, path); }
void tokens(std::int64_t value, const std::string& path) { in_range(1, largest_tokens, value, path); }
void tokens(const std::optional<std::int64_t>& value, const std::string& path) {
  if (value) tokens(*value, path);
}
/// Refuses lists longer than anybody needs, since each of their values costs time in every group of the plan.
void few(const std::vector<std::int64_t>& values, const std::string& path) {
  constexpr std::size_t most = 4'096;
  if (values.size() > most)
    throw SpecError(path, fmt::format("{} lengths are too many; at most {}", values.size(), most));
}
void tokens(const std::vector<std::int64_t>& values, const std::string& path) {
  for (std::int64_t value : values) tokens(value, path);
}

/// Only what sees every token chooses among them.
void validate_indexer(const AttentionSpec& attention, const std::string& path) {
  if (!attention.indexer) return;
  in_range(1, largest_dimension, attention.indexer->bytes_per_entry, path + ".indexer_bytes_per_entry");
  in_range(1, largest_dimension, attention.indexer->tokens_per_entry, path + ".indexer_tokens_per_entry");
  if (attention.window_tokens > 0)
    throw SpecError(path + ".indexer_bytes_per_entry",
                    fmt::format("is {}, but a layer with a window of {} tokens chooses among none; leave one of both "
                                "out", attention.indexer->bytes_per_entry, attention.window_tokens));
}

void validate(const AttentionSpec& attention, const std::string& path) {
  dimension(attention.kv_heads, path + ".kv_heads");
  dimension(attention.head_size_k, path + ".head_size_k");
  dimension(attention.head_size_v, path + ".head_size_v");
  in_range(0, largest_dimension, attention.query_heads, path + ".query_heads");
  if (attention.query_heads % attention.kv_heads != 0)
    throw SpecError(path + ".query_heads", fmt::format("{} query heads do not divide over {} KV heads; take a multiple",
                                                       attention.query_heads, attention.kv_heads));
  const bool windowed =
      attention.kind == AttentionKind::sliding_window || attention.kind == AttentionKind::chunked_local;
  const bool may_slide = attention.kind == AttentionKind::mla && attention.window_tokens != 0;
  if (windowed || may_slide) tokens(attention.window_tokens, path + ".window_tokens");
  if (!windowed && !may_slide && attention.window_tokens != 0)
    throw SpecError(path + ".window_tokens", fmt::format("is {}, but {} has no window", attention.window_tokens,
                                                         to_string(attention.kind)));
  validate_indexer(attention, path);
  if (attention.kind != AttentionKind::mla) return;
  if (attention.kv_heads != 1)
    throw SpecError(path + ".kv_heads", fmt::format("is {}, but mla keeps one latent for all heads; set it to 1",
                                                    attention.kv_heads));
  if (attention.head_size_v > attention.head_size_k)
    throw SpecError(path + ".head_size_v", fmt::format("is {}, but V of mla is part of the latent of {} elements",
                                                       attention.head_size_v, attention.head_size_k));
}

/// Attention to an encoder is beside a layer's own.
void refuse_cross(const AttentionSpec& attention, const std::string& path) {
  if (attention.kind == AttentionKind::cross)
    throw SpecError(path, "is attention to an encoder; give it as that of the layer");
}

/// What attends to an encoder is of that kind, and nothing else is.
void validate_cross(const AttentionSpec& attention, const std::string& path) {
  if (attention.kind != AttentionKind::cross)
    throw SpecError(path, fmt::format("is {}; attention to an encoder is of kind {}", to_string(attention.kind),
                                      to_string(AttentionKind::cross)));
  validate(attention, path);
}

/// Only what an earlier layer of attention caches can be read.
void validate(const SharedKv& shared, std::int64_t layer, const ModelSpec& model, const std::string& path) {
  const bool is_earlier = shared.source >= 0 && shared.source < layer;
  const auto* const source = is_earlier ? &model.layers[static_cast<std::size_t>(shared.source)].attention : nullptr;
  if (source == nullptr || !*source)
    throw SpecError(path + ".source", fmt::format("is layer {}, which is no earlier layer with K and V of its own",
                                                  shared.source));
  in_range(1, largest_dimension, shared.query_heads, path + ".query_heads");
  if (shared.query_heads % (*source)->kv_heads != 0)
    throw SpecError(path + ".query_heads",
                    fmt::format("{} query heads do not divide over the {} KV heads of layer {}; take a multiple",
                                shared.query_heads, (*source)->kv_heads, shared.source));
  if (!shared.indexer) return;
  AttentionSpec indexed = **source;
  indexed.indexer = shared.indexer;
  validate_indexer(indexed, path);
}

/// The whole numbers of a recurrent layer each for itself, then what its family asks of them together.
void validate(const RecurrentSpec& layer, const std::string& path) {
  std::visit([&](const auto& family) {
    using Spec = std::decay_t<decltype(family)>;
    const FamilyTable<Spec>& table = family_of(family);
    for (const FamilyField<Spec>& field : table.fields) {
      const auto* member = std::get_if<std::int64_t Spec::*>(&field.member);
      if (member == nullptr) continue;
      const std::int64_t largest = field.unit == FieldUnit::tokens ? largest_tokens : largest_dimension;
      const std::int64_t value = family.**member;
      if (value < field.minimum || value > largest)  // the path is made only where an error names it
        in_range(field.minimum, largest, value, fmt::format("{}.{}", path, field.name));
    }
    if (table.check) table.check(family, path);
  }, layer);
}

/// Only a layer that keeps one latent per token can be indexed as one.
void validate_form(const AttentionSpec& attention, BackendForm form) {
  if (form == BackendForm::mla && attention.kind != AttentionKind::mla)
    throw SpecError("engine.backend_form",
                    fmt::format("mla indexes one latent per token, but the model has {} layers; take paged, flex, cpu, "
                                "diff_kv or kv_first (mla layers use mla whatever is set)",
                                to_string(attention.kind)));
}

void validate(const ModelSpec& model, const EngineSpec& engine) {
  bool caches = false;
  in_range(0, largest_count, static_cast<std::int64_t>(model.layers.size()), "model.layers");
  std::vector<const LayerSpec*> found_good;  // a few, so that equal layers are looked at once
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const auto is_same = [&](const LayerSpec* other) { return *other == layer; };
    if (std::any_of(found_good.begin(), found_good.end(), is_same)) continue;
    const std::string path = fmt::format("model.layers[{}]", i);
    if (layer.attention) {
      refuse_cross(*layer.attention, path + ".attention");
      validate(*layer.attention, path + ".attention");
      validate_form(*layer.attention, engine.backend_form);
    }
    if (layer.cross) {
      validate_cross(*layer.cross, path + ".cross");
      validate_form(*layer.cross, engine.backend_form);
    }
    if (layer.recurrent) validate(*layer.recurrent, path + ".recurrent");
    if (layer.shared) validate(*layer.shared, static_cast<std::int64_t>(i), model, path + ".shared");
    if (layer.shared && layer.attention)
      throw SpecError(path + ".shared", "the layer has K and V of its own; leave one of both out");
    caches = caches || layer.attention || layer.cross || layer.recurrent;
    if (found_good.size() < 8) found_good.push_back(&layer);
  }
  for (std::size_t i = 0; i < model.auxiliary.size(); ++i)
    validate(model.auxiliary[i], fmt::format("model.auxiliary[{}]", i));
  tokens(model.encoder_tokens, "model.encoder_tokens");
  in_range(0, largest_count, model.extra_blocks_per_request, "model.extra_blocks_per_request");
  in_range(0, largest_dimension, model.ring_tokens, "model.ring_tokens");
  in_range(model.ring_tokens > 0 ? 1 : 0, largest_dimension, model.ring_bytes_per_token, "model.ring_bytes_per_token");
  if (!caches) throw SpecError("model.layers", "no layer has a cache; a plan needs one with attention or a state");
  if (model.mtp) {
    validate(*model.mtp, "model.mtp");
    validate_form(*model.mtp, engine.backend_form);
  }
}

void validate(const DraftSpec& draft, BackendForm form) {
  in_range(1, largest_count, draft.layers, "engine.draft.layers");
  validate(draft.attention, "engine.draft.attention");
  if (draft.attention.kind != AttentionKind::sliding_window && draft.attention.kind != AttentionKind::full)
    throw SpecError("engine.draft.attention", fmt::format("the layers of a draft have full attention or a sliding "
                                                          "window, these are {}", to_string(draft.attention.kind)));
  validate_form(draft.attention, form);
}

/// ", or engine.release vllm-0.33": one that has it.
std::string or_one_allocation() {
  const EngineRules* const other = advised_release([](const EngineRules& rules) { return rules.one_allocation; });
  return other == nullptr ? "" : fmt::format(", or engine.release {}", other->name);
}

/// Refuses settings that only other releases have.
void validate_release(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  if (engine.cache_mode == CacheMode::all && !rules.has_mode_all)
    throw SpecError("engine.cache_mode", fmt::format("{} has no mode all; take align or none", rules.title));
  if (rules.one_allocation) {
    if (engine.physical_order == PhysicalOrder::head_major)
      throw SpecError("engine.physical_order",
                      fmt::format("{} has no head_major; BHLNC keeps the heads outside the layers, where the layers "
                                  "have equal shapes", rules.title));
    return;
  }
  std::optional<CacheOrder> same;
  if (engine.physical_order == PhysicalOrder::nhd) same = CacheOrder::lbnhc;
  if (engine.physical_order == PhysicalOrder::hnd) same = CacheOrder::lbhnc;
  if (engine.cache_order && engine.cache_order != same)
    throw SpecError("engine.physical_order",
                    fmt::format("{} is an order of one allocation, which {} does not have; take nhd, hnd or "
                                "head_major{}",
                                to_string(*engine.cache_order), rules.title, or_one_allocation()));
}

void validate_parallel(const ModelSpec& model, const EngineSpec& engine) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  in_range(1, largest_dimension, engine.pipeline_parallel, "engine.pipeline_parallel");
  if (engine.pipeline_parallel > layers)
    throw SpecError("engine.pipeline_parallel", fmt::format("{} stages for {} layers; take at most as many",
                                                            engine.pipeline_parallel, layers));
  if (engine.pipeline_parallel > 1 && engine.attention_pack_size > 1 && has_one_allocation(engine))
    throw SpecError("engine.pipeline_parallel",
                    fmt::format("is {}, but {} layers a page are planned on one stage; take 1, or "
                                "engine.attention_pack_size 1", engine.pipeline_parallel, engine.attention_pack_size));
  if (engine.pipeline_rank < 0 || engine.pipeline_rank >= engine.pipeline_parallel)
    throw SpecError("engine.pipeline_rank", fmt::format("is {}, the stages are 0 to {}", engine.pipeline_rank,
                                                        engine.pipeline_parallel - 1));
  if (!engine.pipeline_layers.empty()) {
    Checked sum = 0;
    for (const std::int64_t of_stage : engine.pipeline_layers) {
      in_range(1, largest_count, of_stage, "engine.pipeline_layers");
      sum += of_stage;
    }
    if (std::ssize(engine.pipeline_layers) != engine.pipeline_parallel || sum != layers)
      throw SpecError("engine.pipeline_layers",
                      fmt::format("{} stages of {} layers together; the model has {} layers, engine.pipeline_parallel "
                                  "is {}", engine.pipeline_layers.size(), std::int64_t(sum), layers,
                                  engine.pipeline_parallel));
  }
  if (!engine.pipeline_memory_bytes.empty()) {
    if (std::ssize(engine.pipeline_memory_bytes) != engine.pipeline_parallel)
      throw SpecError("engine.pipeline_memory",
                      fmt::format("{} amounts for {} stages; give one for each stage of engine.pipeline_parallel",
                                  engine.pipeline_memory_bytes.size(), engine.pipeline_parallel));
    for (const std::int64_t bytes : engine.pipeline_memory_bytes) at_least(1, bytes, "engine.pipeline_memory");
  }
  in_range(1, largest_dimension, engine.decode_context_parallel, "engine.decode_context_parallel");
  if (engine.tensor_parallel % engine.decode_context_parallel != 0)
    throw SpecError("engine.decode_context_parallel",
                    fmt::format("{} ranks do not divide the {} of tensor_parallel; take a divisor",
                                engine.decode_context_parallel, engine.tensor_parallel));
  if (engine.decode_context_parallel > 1 && engine.hybrid_manager)
    for (const LayerSpec& layer : model.layers)
      if (layer.attention && layer.attention->window_tokens > 0)
        throw SpecError("engine.decode_context_parallel",
                        "layers with a window do not spread their tokens over ranks; set it to 1");
}

/// Backends that read latents alone have nothing to do in a model without any.
void validate_profile(const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.backend_profile) return;
  const ProfileFacts& facts = facts_of(*engine.backend_profile);
  const auto is_mla = [](const std::optional<AttentionSpec>& attention) {
    return attention && attention->kind == AttentionKind::mla;
  };
  if (!facts.without_latents || is_mla(model.mtp) ||
      std::any_of(model.layers.begin(), model.layers.end(), [&](const LayerSpec& layer) {
        return is_mla(layer.attention);
      }))
    return;
  throw SpecError("engine.backend_profile",
                  fmt::format("{} is for latents ({}), and no layer of {} keeps any; take {}, which the same machine "
                              "has for other attention", to_string(*engine.backend_profile), facts.backend,
                              model.name.empty() ? "the model" : model.name, to_string(*facts.without_latents)));
}

constexpr double largest_ratio = 1e6;

void validate(const EngineSpec& engine) {
  if (engine.kv_format && engine.kv_dtype)
    throw SpecError("engine.kv_dtype", fmt::format("is {} and {}; K and V have one format", to_string(*engine.kv_dtype),
                                                   to_string(*engine.kv_format)));
  tokens(engine.encoder_tokens, "engine.encoder_tokens");
  in_range(0, largest_dimension, engine.hidden_state_size, "engine.hidden_state_size");
  dimension(engine.tensor_parallel, "engine.tensor_parallel");
  in_range(1, largest_count, engine.attention_pack_size, "engine.attention_pack_size");
  if (engine.layers_per_group) in_range(1, largest_count, *engine.layers_per_group, "engine.layers_per_group");
  if (engine.layers_per_group && groups_whole_kinds(engine.strategy))
    throw SpecError("engine.layers_per_group",
                    fmt::format("is {}, but strategy {} makes one group of all layers of a kind; leave it out, "
                                "or take another engine.strategy", *engine.layers_per_group,
                                to_string(engine.strategy)));
  if (engine.attention_pack_size > 1 && engine.strategy == Strategy::two_level)
    throw SpecError("engine.attention_pack_size",
                    fmt::format("is {}, but a small page of strategy two_level holds all layers of its kind; leave it "
                                "out, or take another engine.strategy", engine.attention_pack_size));
  tokens(engine.block_size_tokens, "engine.block_size_tokens");
  tokens(engine.mamba_block_size_tokens, "engine.mamba_block_size_tokens");
  tokens(engine.kernel_alignment_tokens, "engine.kernel_alignment_tokens");
  tokens(engine.kernel_block_sizes, "engine.kernel_block_sizes");
  tokens(engine.page_alignment_bytes, "engine.page_alignment_bytes");
  in_range(0, largest_dimension, engine.speculative_tokens, "engine.speculative_tokens");
  in_range(0, largest_count, engine.mtp_layers, "engine.mtp_layers");
  tokens(engine.max_num_batched_tokens, "engine.max_num_batched_tokens");
  if (engine.num_blocks)
    at_least(1, *engine.num_blocks, "engine.num_blocks");
  else if (engine.pipeline_memory_bytes.empty())
    at_least(1, engine.memory_bytes, "engine.memory");
  if (engine.state_memory_ratio && !(*engine.state_memory_ratio > 0 && *engine.state_memory_ratio <= largest_ratio))
    throw SpecError("engine.state_memory_ratio",
                    fmt::format("is above 0 and at most {}, not {}", largest_ratio, *engine.state_memory_ratio));
  if (engine.state_requests) in_range(1, largest_tokens, *engine.state_requests, "engine.state_requests");
  const bool shares = engine.strategy == Strategy::pool_groups && !engine.state_requests;
  if (!splits_memory(engine.strategy) && !shares && (engine.state_memory_ratio || engine.state_requests))
    throw SpecError(engine.state_requests ? "engine.state_requests" : "engine.state_memory_ratio",
                    fmt::format("splits the memory of strategies {}, the strategy is {}", splitting_strategies(),
                                to_string(engine.strategy)));
  if (engine.state_memory_ratio && engine.state_requests)
    throw SpecError("engine.state_requests", "and engine.state_memory_ratio both split the memory; give one of them");
  if (engine.draft) validate(*engine.draft, engine.backend_form);
  if (engine.concurrent_batches) in_range(1, largest_count, *engine.concurrent_batches, "engine.concurrent_batches");
  tokens(engine.checkpoint_alignment_tokens, "engine.checkpoint_alignment_tokens");
  if (engine.checkpoint_blocks) in_range(0, 1, *engine.checkpoint_blocks, "engine.checkpoint_blocks");
  tokens(engine.prefix_match_unit_tokens, "engine.prefix_match_unit_tokens");
  refuse_untaken_keys(engine);
  validate_supposed(engine);
  validate_release(engine);
}

void validate(const LimitsSpec& limits) {
  if (limits.max_model_lens.empty()) throw SpecError("limits.max_model_len", "no length is given; take at least one");
  few(limits.max_model_lens, "limits.max_model_len");
  few(limits.load_tokens, "limits.load_tokens");
  tokens(limits.max_model_lens, "limits.max_model_len");
  tokens(limits.longest_prompt_tokens, "limits.longest_prompt_tokens");
  tokens(limits.load_tokens, "limits.load_tokens");
}

}  // namespace

void validate(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits) {
  validate(engine);
  validate(limits);
  validate(model, engine);
  validate_parallel(model, engine);
  validate_profile(model, engine);
  validate_encoder(model, engine, limits);
  if (engine.rules->validate) engine.rules->validate(model, engine);
}

void validate(const WorkspaceSpec& batch) {
  tokens(batch.query_tokens, "workspace.query_tokens");
  tokens(batch.shared_blocks, "workspace.shared_blocks");
  tokens(batch.block_size_tokens, "workspace.block_size_tokens");
  tokens(batch.chunk_blocks, "workspace.chunk_blocks");
}

}  // namespace hybridkv
