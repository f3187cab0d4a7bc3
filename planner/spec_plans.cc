#include "planner/spec_plans.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/block_size.h"
#include "planner/cell_types.h"
#include "planner/encoder_tokens.h"
#include "planner/layer_specs.h"
#include "planner/padded_heads.h"
#include "planner/replay_rows.h"
#include "planner/replay_settings.h"
#include "planner/spec_decisions.h"
#include "planner/state_decisions.h"

namespace hybridkv {

namespace {

StateContext state_context(const RecurrentSpec& layer, const ModelSpec& model, const EngineSpec& engine) {
  // The engine does not follow the model's dtype for convolutions, keeps states of draft steps outside the slots, and
  // ignores the model's own key for the state of KDA.
  if (engine.rules->tree_pools)
    return {engine.tensor_parallel, 0, engine.conv_dtype.value_or(DType::bf16),
            engine.ssm_dtype.value_or(fixed_ssm_dtype(layer).value_or(model.ssm_dtype.value_or(DType::fp32)))};
  // Both tensors have rows of one type, whatever the model's dtype. Drafts get rows of their own instead of longer
  // convolutions.
  if (engine.strategy == Strategy::sequence_rows)
    return {engine.tensor_parallel, 0, engine.conv_dtype.value_or(DType::fp32), engine.ssm_dtype.value_or(DType::fp32)};
  // Only one of the keys that configs have for the state is read; kda keeps fp32 and K inputs.
  if (engine.strategy == Strategy::pool_groups) {
    const DType by_config = model.ssm_cache_dtype.value_or(model.dtype);
    return {.tensor_parallel = engine.tensor_parallel,
            .conv_dtype = engine.conv_dtype.value_or(model.dtype),
            .ssm_dtype = engine.ssm_dtype.value_or(fixed_ssm_dtype(layer).value_or(by_config)),
            .kda_keeps_all_taps = true};
  }
  const DType by_model = model.ssm_dtype.value_or(model.dtype);
  return {engine.tensor_parallel, engine.speculative_tokens, engine.conv_dtype.value_or(model.dtype),
          engine.ssm_dtype.value_or(fixed_ssm_dtype(layer).value_or(by_model))};
}

/// c: a scan that can stop inside a chunk exports the state there into a block of its own.
std::int64_t checkpoint_blocks(const RecurrentSpec& layer, const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.rules->counts_checkpoint_blocks || engine.cache_mode != CacheMode::align) return 0;
  if (std::holds_alternative<Mamba2Spec>(layer)) return 1;
  if (convolves_alone(layer)) return 0;
  const bool flash_kda = std::holds_alternative<KdaSpec>(layer) && model.kda_exports_states &&
                         engine.backend_profile && facts_of(*engine.backend_profile).flash_kda;
  return engine.checkpoint_blocks.value_or(flash_kda || exported_at(layer, engine) > 1 ? 1 : 0);
}

/// An engine with tree pools keeps the channels of all convolutions but those of kda outside their steps, one with
/// pool groups those of all.
ConvStateLayout conv_layout_of(const RecurrentSpec& layer, const EngineSpec& engine) {
  const bool by_channels = engine.strategy == Strategy::pool_groups ||
                           (engine.rules->tree_pools && !std::holds_alternative<KdaSpec>(layer));
  return engine.conv_state_layout.value_or(by_channels ? ConvStateLayout::ds : ConvStateLayout::sd);
}

/// Convolutions with the channel outside the step; one of a single tap keeps nothing that could lie so.
void put_channels_outside(StateSpec& state) {
  StateTensor& conv = state.tensors.front();
  if (conv.layout.find("step") < 0 || conv.layout.num_elements() == 0) return;
  conv.layout = Layout({{"channel", conv.layout.extent("channel"), 0}, {"step", conv.layout.extent("step"), 0}});
  state = place_state_tensors(std::move(state.tensors));
}

SpecPlan recurrent_spec(const LayerSet& set, const StateContext& context, const ModelSpec& model,
                        const EngineSpec& engine) {
  SpecPlan spec;
  spec.state = state_of(*set.recurrent, context);
  if (conv_layout_of(*set.recurrent, engine) == ConvStateLayout::ds) put_channels_outside(*spec.state);
  if (engine.own[replay_key::use_replayssm]) append_replay_ring(*spec.state, model, engine);
  if (engine.what_if.states != StatePlacement{})
    spec.state = place_state_tensors(std::move(spec.state->tensors), engine.what_if.states);
  if (gives_tensors_pages(engine.strategy)) spec.state = place_state_tensors_apart(std::move(spec.state->tensors));
  spec.unpadded_page_bytes = spec.state->bytes;
  spec.checkpoint_blocks = checkpoint_blocks(*set.recurrent, model, engine);
  spec.num_pages = static_cast<std::int64_t>(set.layers.size());
  return spec;
}

/// A ring is bytes, as a state is, but of a fixed number of tokens.
SpecPlan ring_spec(const LayerSet& set) {
  SpecPlan spec;
  spec.ring_tokens = set.ring->tokens;
  spec.state = place_state_tensors(
      {{"ring", DType::uint8, Layout({{"token", set.ring->tokens, 0}, {"byte", set.ring->bytes_per_token, 0}}), 0}});
  spec.unpadded_page_bytes = spec.state->bytes;
  spec.num_pages = static_cast<std::int64_t>(set.layers.size());
  return spec;
}

/// Cells that keep no element type that K and V share count bytes.
void keep_in_cells(SpecPlan& spec, const AttentionSpec& layer, const CellTypes& types) {
  AttentionGeometry& attention = *spec.attention;
  attention.dtype = DType::uint8;
  attention.cells = types;
  attention.head_size_k = cell_row_bytes(types.key, layer.head_size_k);
  attention.head_size_v = cell_row_bytes(types.value, layer.head_size_v);
  // A row of K and one of V that differ in length lie one behind the other.
  if (!is_latent(layer.kind) && attention.head_size_k != attention.head_size_v) attention.form = BackendForm::diff_kv;
  spec.bytes_per_token =
      Checked(attention.kv_heads) *
      (is_latent(layer.kind) ? Checked(attention.head_size_k) : Checked(attention.head_size_k) + attention.head_size_v);
}

SpecPlan attention_spec(const LayerSet& set, const ModelSpec& model, const EngineSpec& engine) {
  const AttentionSpec& layer = *set.attention;
  const bool hidden = layer.kind == AttentionKind::hidden_state, indexer = layer.kind == AttentionKind::indexer;
  const std::optional<KvFormat> format = hidden || indexer ? std::nullopt : engine.kv_format;
  const HeadBytes bytes = format ? head_bytes(layer, *format) : HeadBytes{};
  const bool has_cells = engine.strategy == Strategy::sequence_rows;
  const CellTypes cells = has_cells ? cell_types_of(engine) : CellTypes{};
  const DType plain = has_cells ? cells.element().value_or(DType::fp16) : kv_dtype_of(model, engine);
  const DType dtype = format || indexer ? DType::uint8 : hidden ? model.dtype : plain;
  const bool latent = is_latent(layer.kind);
  const BackendForm form = latent                               ? BackendForm::mla
                           : format && is_side_by_side(*format) ? BackendForm::diff_kv
                                                                : engine.backend_form;
  SpecPlan spec;
  spec.attention = AttentionGeometry{
      .kind = layer.kind,
      .dtype = dtype,
      .format = format,
      .form = form,
      .order = engine.physical_order,
      .query_heads = layer.query_heads == 0 ? 0 : query_heads_per_rank(layer, engine.tensor_parallel),
      .kv_heads = kv_heads_per_rank(layer, engine.tensor_parallel),
      .head_size_k = format ? bytes.key : layer.head_size_k,
      .head_size_v = format ? bytes.value : layer.head_size_v,
      .window_tokens = layer.window_tokens};
  spec.bytes_per_token = format ? kv_bytes_per_token(layer, engine.tensor_parallel, *format)
                                : kv_bytes_per_token(layer, engine.tensor_parallel, dtype);
  if (layer.kind == AttentionKind::cross) spec.encoder_tokens = encoder_tokens_of(model, engine);
  if (indexer) spec.tokens_per_entry = layer.indexer->tokens_per_entry;
  if (has_cells) check_cell_types(cells, layer, engine);
  if (has_cells && !cells.element()) keep_in_cells(spec, layer, cells);
  spec.layers_per_page = set.auxiliary ? 1 : engine.attention_pack_size;
  spec.num_pages = ceil_div(static_cast<std::int64_t>(set.layers.size()), spec.layers_per_page);
  return spec;
}

SpecPlan spec_of(const LayerSet& set, const ModelSpec& model, const EngineSpec& engine) {
  if (set.ring) return ring_spec(set);
  return set.recurrent ? recurrent_spec(set, state_context(*set.recurrent, model, engine), model, engine)
                       : attention_spec(set, model, engine);
}

/// Layers that read the K and V of others have query heads to share as all have.
void require_shared_queries(const ModelSpec& model, const EngineSpec& engine) {
  if (engine.pad_heads || engine.rules->tree_pools) return;
  for (const LayerSpec& layer : model.layers)
    if (layer.shared) query_heads_per_rank({.query_heads = layer.shared->query_heads}, engine.tensor_parallel);
}

}  // namespace

DType kv_dtype_of(const ModelSpec& model, const EngineSpec& engine) {
  if (engine.kv_dtype) return *engine.kv_dtype;
  return engine.rules->follows_checkpoint ? model.kv_dtype.value_or(model.dtype) : model.dtype;
}

std::vector<SpecPlan> make_specs(const ModelSpec& model, const EngineSpec& engine, Derivation* derivation) {
  require_shared_queries(model, engine);
  std::vector<SpecPlan> specs;
  for (const LayerSet& of_model : collect_layer_sets(model, engine)) {
    LayerSet padded = engine.pad_heads ? with_padded_heads(of_model, engine.tensor_parallel) : of_model;
    if (padded.recurrent && engine.rules->convs_hold_drafts) hold_drafts(*padded.recurrent);
    const bool counts = engine.rules->tree_pools;
    const LayerSet set = counts ? with_counted_heads(padded, engine.tensor_parallel) : padded;
    SpecPlan spec = spec_of(set, model, engine);
    spec.id = static_cast<std::int64_t>(specs.size());
    spec.kind = set.kind();
    spec.draft = set.draft;
    spec.auxiliary = set.auxiliary;
    spec.layers = set.layers;
    if (derivation != nullptr && !set.ring)
      derive_padding(of_model, padded, engine, spec_label(spec), *derivation);
    if (derivation != nullptr && counts)
      derive_counted_heads(padded, set, engine, spec_label(spec), *derivation);
    if (derivation != nullptr && set.recurrent)
      derive_state(*set.recurrent, state_context(*set.recurrent, model, engine), spec, engine, *derivation);
    if (derivation != nullptr && set.recurrent && engine.own[replay_key::use_replayssm])
      derive_replay_ring(spec, engine, *derivation);
    if (derivation != nullptr && set.ring) derive_ring(model, engine, spec, *derivation);
    if (derivation != nullptr && set.attention) derive_attention(set, engine, spec, *derivation);
    specs.push_back(std::move(spec));
  }
  // An auxiliary layer resumes where the layers of the pattern do, so it needs as many blocks for exported states.
  std::int64_t exported = 0;
  for (const SpecPlan& spec : specs)
    if (!spec.auxiliary) exported = std::max(exported, spec.checkpoint_blocks);
  for (SpecPlan& spec : specs)
    if (spec.auxiliary && spec.state && spec.ring_tokens == 0) spec.checkpoint_blocks = exported;
  return specs;
}

}  // namespace hybridkv
