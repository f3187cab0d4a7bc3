#include "planner/validate.h"

#include <fmt/format.h>

#include <string>

#include "layout/error.h"

namespace hybridkv {

namespace {

void at_least(std::int64_t smallest, std::int64_t value, const std::string& path) {
  if (value < smallest) throw SpecError(path, fmt::format("must be at least {}, is {}", smallest, value));
}

void validate(const AttentionSpec& attention, const std::string& path) {
  at_least(1, attention.kv_heads, path + ".kv_heads");
  at_least(1, attention.head_size_k, path + ".head_size_k");
  at_least(1, attention.head_size_v, path + ".head_size_v");
  at_least(0, attention.query_heads, path + ".query_heads");
  if (attention.query_heads % attention.kv_heads != 0)
    throw SpecError(path + ".query_heads", fmt::format("{} query heads do not divide over {} KV heads; take a multiple",
                                                       attention.query_heads, attention.kv_heads));
  const bool windowed =
      attention.kind == AttentionKind::sliding_window || attention.kind == AttentionKind::chunked_local;
  if (windowed) at_least(1, attention.window_tokens, path + ".window_tokens");
  if (!windowed && attention.window_tokens != 0)
    throw SpecError(path + ".window_tokens", fmt::format("is {}, but {} has no window", attention.window_tokens,
                                                  to_string(attention.kind)));
}

void validate(const GdnSpec& layer, const std::string& path) {
  at_least(1, layer.key_heads, path + ".key_heads");
  at_least(1, layer.value_heads, path + ".value_heads");
  at_least(1, layer.key_head_dim, path + ".key_head_dim");
  at_least(1, layer.value_head_dim, path + ".value_head_dim");
  at_least(1, layer.conv_kernel, path + ".conv_kernel");
}

void validate(const Mamba2Spec& layer, const std::string& path) {
  at_least(1, layer.heads, path + ".heads");
  at_least(1, layer.head_dim, path + ".head_dim");
  at_least(1, layer.state_size, path + ".state_size");
  at_least(1, layer.groups, path + ".groups");
  at_least(1, layer.conv_kernel, path + ".conv_kernel");
  at_least(1, layer.chunk_size, path + ".chunk_size");
}

void validate(const ModelSpec& model) {
  bool caches = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string path = fmt::format("model.layers[{}]", i);
    const LayerSpec& layer = model.layers[i];
    if (layer.attention) validate(*layer.attention, path + ".attention");
    if (layer.recurrent)
      std::visit([&](const auto& family) { validate(family, path + ".recurrent"); }, *layer.recurrent);
    caches = caches || layer.attention || layer.recurrent;
  }
  if (!caches) throw SpecError("model.layers", "no layer has a cache; a plan needs one with attention or a state");
  if (model.mtp) validate(*model.mtp, "model.mtp");
}

}  // namespace

void validate(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits) {
  at_least(1, engine.tensor_parallel, "engine.tensor_parallel");
  at_least(1, engine.attention_pack_size, "engine.attention_pack_size");
  if (engine.block_size_tokens) at_least(1, *engine.block_size_tokens, "engine.block_size_tokens");
  if (engine.mamba_block_size_tokens) at_least(1, *engine.mamba_block_size_tokens, "engine.mamba_block_size_tokens");
  at_least(1, engine.kernel_alignment_tokens, "engine.kernel_alignment_tokens");
  for (std::int64_t size : engine.kernel_block_sizes) at_least(1, size, "engine.kernel_block_sizes");
  at_least(0, engine.speculative_tokens, "engine.speculative_tokens");
  at_least(0, engine.mtp_layers, "engine.mtp_layers");
  at_least(1, engine.max_num_batched_tokens, "engine.max_num_batched_tokens");
  if (engine.num_blocks) at_least(1, *engine.num_blocks, "engine.num_blocks");
  if (!engine.num_blocks) at_least(1, engine.memory_bytes, "engine.memory");
  if (engine.draft) {
    at_least(1, engine.draft->layers, "engine.draft.layers");
    validate(engine.draft->attention, "engine.draft.attention");
  }
  if (limits.max_model_lens.empty()) throw SpecError("limits.max_model_len", "no length is given; take at least one");
  for (std::int64_t tokens : limits.max_model_lens) at_least(1, tokens, "limits.max_model_len");
  if (limits.longest_prompt_tokens) at_least(1, *limits.longest_prompt_tokens, "limits.longest_prompt_tokens");
  for (std::int64_t tokens : limits.load_tokens) at_least(1, tokens, "limits.load_tokens");
  validate(model);
}

}  // namespace hybridkv
