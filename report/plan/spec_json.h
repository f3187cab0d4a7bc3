#pragma once

#include "ask/plan_figures.h"
#include "planner/cache_plan.h"
#include "report/plan/layout_json.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<KvFormat> = all_kv_formats;
template <>
inline constexpr auto enum_values<CellType> = all_cell_types;
template <>
inline constexpr auto enum_values<AttentionKind> = all_attention_kinds;
template <>
inline constexpr auto enum_values<BackendForm> = all_backend_forms;
template <>
inline constexpr auto enum_values<PhysicalOrder> = all_physical_orders;

template <class Archive, Is<StateTensor> T>
void fields(Archive& archive, T& tensor) {
  archive.named("tensor", "One tensor of a state, per rank and sequence position; dense, the last axis contiguous.");
  archive("name", tensor.name, "conv or ssm.");
  archive("dtype", tensor.dtype, "Element type.");
  layout_fields(archive, tensor.layout, true);
  archive("byte_offset", tensor.byte_offset, "From the first byte of the page.");
}

template <class Archive, Is<StateSpec> T>
void fields(Archive& archive, T& state) {
  archive.named("state", "What one recurrent layer keeps for one sequence position.");
  archive("bytes", state.bytes, "M: end of the last tensor.");
  archive("padding_bytes", state.padding_bytes,
          "Bytes before and between the tensors, spent on alignment; part of bytes.");
  archive("tensors", state.tensors, "One after the other, conv first unless what_if says otherwise.");
}

template <class Archive, Is<SupposedLayout> T>
void fields(Archive& archive, T& what_if) {
  archive.named("what_if", "Rules of no engine that the plan follows in place of the engine's own; it is modelled.");
  archive.unless_default("block_formula", what_if.block_formula, "B, over the symbols of the derivation.");
  archive.unless_default("page_bytes", what_if.page_bytes, {"P.", 1});
  archive.unless_default("groups", what_if.groups, "Layers of each group.");
  archive.unless_default("state_first_byte", what_if.states.first_byte, "Of its page, at which a state begins.");
  archive.unless("state_alignment_bytes", what_if.states.alignment, 1,
                 {"Of which the tensors of a state begin at a multiple; default 1.", 1});
  archive.unless_default("recurrent_first", what_if.states.recurrent_first,
                         "The convolution lies behind what else a state has.");
}

template <class Archive, Is<CellTypes> T>
void fields(Archive& archive, T& cells) {
  archive.named("cell_types", "How cells keep K and V.");
  archive("key", cells.key, "Type of K.");
  archive("value", cells.value, "Type of V.");
}

template <class Archive, Is<AttentionGeometry> T>
void fields(Archive& archive, T& geometry) {
  archive.named("attention", "What one rank keeps of an attention layer, as its backend indexes it.");
  archive("kind", geometry.kind, "What the layer may look at.");
  archive("dtype", geometry.dtype, "Element type.");
  archive.unless_default("format", geometry.format,
                         "A format with scales, kept as bytes: head sizes and channels count bytes, scales included.");
  archive.unless_default("cells", geometry.cells,
                         "Cells that keep K and V in blocks, or each in a type of its own; head sizes count bytes.");
  archive("form", geometry.form, "Axes by which the backend indexes the paged cache.");
  archive("order", geometry.order, "Order of a page in memory.");
  archive("query_heads", geometry.query_heads, "Of this rank; 0 where the model does not say.");
  archive("kv_heads", geometry.kv_heads, "Of this rank; 1 for mla.");
  archive("head_size_k", geometry.head_size_k, "Elements of K per head; for mla the whole latent.");
  archive("head_size_v", geometry.head_size_v, "Elements of V per head; for mla part of the latent.");
  archive("window_tokens", geometry.window_tokens,
          "sliding_window, chunked_local, and mla where it keeps no more; else 0.");
}

template <class Archive, Is<SpecPlan> T>
void fields(Archive& archive, T& spec) {
  archive.named("spec", "Layers that cache the same thing in the same way; either bytes_per_token or a state.");
  archive.choice("oneOf", {{"bytes_per_token", "attention"}, {"state"}});
  archive("id", spec.id, "Position in specs.");
  archive("kind", spec.kind, {"What the layers cache.", layer_kinds});
  archive("layers", spec.layers, "Layer numbers in the model; MTP layers go on counting, a draft counts from 0.");
  archive("block_size_tokens", spec.block_size_tokens, "B; of recurrent layers in mode none the longest length.");
  archive("kernel_block_size_tokens", spec.kernel_block_size_tokens,
          "b: sub-block that the attention kernel addresses; divides the block.");
  archive.unless_default("bytes_per_token", spec.bytes_per_token,
                         {"a1: K and V of one token in one layer on one rank.", 1});
  archive.unless("tokens_per_entry", spec.tokens_per_entry, 1,
                 {"Of an indexer whose entries stand for several tokens: so many share those bytes; default 1.", 1});
  archive.unless_default("state", spec.state);
  archive("unpadded_page_bytes", spec.unpadded_page_bytes, "N * B * a1 of attention, M of recurrent layers.");
  archive("padding_percent", spec.padding_percent, "100 * (P - unpadded) / unpadded.");
  archive("draft", spec.draft, "True for the layers of a draft model.");
  archive.unless_default("auxiliary", spec.auxiliary,
                         "True for layers beside the model's own, which do not size the groups.");
  archive("layers_per_page", spec.layers_per_page, "N of attention, 1 of recurrent layers.");
  archive("num_pages", spec.num_pages, "Packs or recurrent layers: ceil(layers / layers_per_page).");
  archive.unless_default("checkpoint_blocks", spec.checkpoint_blocks,
                         "c: blocks of a request and group for a state that a chunk exports; default 0.");
  archive.unless_default("ring_tokens", spec.ring_tokens,
                         "Of a ring, one id of every request: tokens that it holds; default 0, no ring.");
  archive.unless_default("encoder_tokens", spec.encoder_tokens,
                         "Of cross attention: tokens of the encoder whose K and V a request has; default 0, none.");
  archive.unless_default("attention", spec.attention);
}

}  // namespace hybridkv
