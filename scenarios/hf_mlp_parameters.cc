#include "scenarios/hf_mlp_parameters.h"

#include <algorithm>

namespace hybridkv {

namespace {

bool is_gated(const HfShape& layer) {
  const std::string projection = layer.word("feed_forward_proj");
  return projection.empty() ? !layer.has(HfTrait::no_gate) : projection.starts_with("gated");
}

Checked matrices(const HfShape& layer, const Checked& hidden, std::int64_t size, bool is_biased) {
  const std::int64_t inputs = is_gated(layer) ? 2 : 1;
  return hidden * size * (inputs + 1) + (is_biased ? Checked(size) * inputs + hidden : Checked(0));
}

Checked dense_size(const HfShape& layer) {
  const auto multiple_of_hidden = static_cast<std::int64_t>(layer.real("expansion_ratio", 4));
  // Old models without a gate leave the size to this rule; of others a config without it is not complete.
  const bool has_rule = !is_gated(layer) || layer.has(HfTrait::shared_layers);
  const Checked by_rule = has_rule ? multiple_of_hidden * layer.hidden() : Checked(0);
  Checked size = layer.number({"dense_intermediate_size", "intermediate_size_mlp", "intermediate_size", "n_inner",
                               "ffn_dim", "ffn_hidden_size", "decoder_ffn_dim", "d_ff", "mlp_hidden_size"},
                              by_rule);
  // Granite's shared expert stands alone where there are no routed ones.
  if (const Checked shared = layer.number({"shared_intermediate_size"}); shared != 0 && hf_experts(layer) == 0)
    size = shared;
  if (layer.has(HfTrait::half_size)) size = size / 2;
  if (layer.flag({"block_auto_adjust_ff_dim"})) {
    // Source: the MLP of Hugging Face Transformers' Lfm2.
    const double adjusted = layer.real("block_ffn_dim_multiplier", 1) * static_cast<double>(2 * size / 3);
    const std::int64_t multiple = layer.number({"block_multiple_of"}, 1);
    size = round_up(static_cast<std::int64_t>(adjusted), std::max<std::int64_t>(1, multiple));
  }
  if (const double factor = layer.real("ffn_proj_factor", 0); factor > 0) {
    // Source: xLSTMFeedForward of Hugging Face Transformers.
    const auto wide = static_cast<std::int64_t>(factor * static_cast<double>(layer.hidden()));
    size = round_up(wide, std::max<std::int64_t>(1, layer.number({"ffn_round_up_to_multiple_of"}, 1)));
  }
  if (size == 0) throw InputError("the size of the MLP is not declared");
  const std::int64_t sharers = layer.number({"num_kv_shared_layers"});
  const bool is_double = layer.flag({"use_double_wide_mlp"}) && sharers > 0 &&
                         layer.layer() >= layer.number({"num_hidden_layers"}) - sharers;
  return is_double ? 2 * size : size;
}

/// Does a list of layer numbers hold this one?
bool is_listed(const YamlNode& list, std::int64_t layer) {
  for (const YamlNode& item : list.items)
    if (hf_count(item) == layer) return true;
  return false;
}

bool has_experts(const HfShape& layer) {
  if (hf_experts(layer) == 0) return false;
  if (!layer.flag({"is_moe"}, true) || !layer.flag({"enable_moe_block"}, true)) return false;
  const std::int64_t i = layer.layer();
  // A list of the class says nothing of a config that says it in another way.
  const std::string type = layer.word("mlp_layer_types");
  const bool says_otherwise =
      layer.is_written({"first_k_dense_replace", "moe_layer_freq", "num_dense_layers", "mlp_only_layers"});
  if (!type.empty() && (layer.is_written({"mlp_layer_types"}) || !says_otherwise)) return type != "dense";
  if (const YamlNode* listed = layer.list("moe_layers")) return is_listed(*listed, i);
  if (const YamlNode* dense = layer.list("mlp_only_layers"); dense && is_listed(*dense, i)) return false;
  if (i < layer.number({"num_dense_layers"}) || i < layer.number({"first_k_dense_replace"})) return false;
  if (layer.list("moe_layer_freq")) return layer.number({"moe_layer_freq"}) != 0;
  const std::int64_t step = layer.number({"decoder_sparse_step", "interleave_moe_layer_step"});
  if (step > 0) return (i + 1) % step == 0;
  const std::int64_t period = layer.number({"expert_layer_period"});
  if (period > 0) return i % period == layer.number({"expert_layer_offset"});
  const std::int64_t interval = layer.number({"moe_layer_interval"});
  if (interval > 0)
    return (i + 1) % interval == 0 && i >= layer.number({"moe_layer_start_index"}, 1) &&
           i <= layer.number({"moe_layer_end_index"}, i);
  return true;
}

/// Of several sizes, one for each modality, the sum.
Checked expert_size(const HfShape& layer) {
  if (const YamlNode* sizes = layer.list("moe_intermediate_size")) {
    Checked sum = 0;
    for (const YamlNode& size : sizes->items) sum += hf_count(size).value_or(0);
    return sum;
  }
  return layer.number({"moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"});
}

Checked shared_size(const HfShape& layer) {
  const Checked experts = layer.number({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"});
  return layer.number({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                       "shared_intermediate_size", "share_expert_dim"},
                      layer.has(HfTrait::one_shared) ? expert_size(layer) : expert_size(layer) * experts);
}

/// A router with layers of its own, else one matrix.
Checked router_parameters(const HfShape& layer) {
  const Checked experts = hf_experts(layer);
  if (const Checked inner = layer.number({"router_hidden_size"}); inner != 0)
    return (layer.hidden() + 1) * inner + 2 * inner * (inner + 1) + 2 * inner + inner * (experts + 1);
  const Checked biases = layer.has(HfTrait::expert_bias) ? experts : Checked(0);
  return layer.hidden() * (experts + layer.number({"zero_expert_num"})) + biases;
}

ParameterCounts expert_parameters(const HfShape& layer) {
  const bool is_biased = layer.flag({"mlp_bias"}) || layer.has(HfTrait::mlp_bias);
  const Checked hidden = layer.hidden();
  Checked inner = layer.number({"moe_hidden_size", "moe_latent_size", "routed_expert_hidden_size"}, hidden);
  if (inner == 0) inner = hidden;
  ParameterCounts counts;
  counts[ParameterPart::routed_experts] =
      hf_experts(layer) * matrices(layer, inner, expert_size(layer), layer.has(HfTrait::expert_bias));
  if (const Checked shared = shared_size(layer); shared != 0)
    counts[ParameterPart::shared_experts] =
        matrices(layer, hidden, shared, is_biased) + (layer.has(HfTrait::shared_gate) ? layer.hidden() : Checked(0));
  // Experts of another width than the layers stand between two projections.
  if (inner != hidden) counts[ParameterPart::shared_experts] += 2 * hidden * inner;
  counts[ParameterPart::norms] =
      router_parameters(layer) + (layer.flag({"latent_moe_use_norm"}) ? inner : Checked(0));
  return counts;
}

}  // namespace

std::int64_t hf_experts(const HfShape& shape) {
  return shape.number({"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"});
}

std::int64_t hf_experts_per_token(const HfShape& shape) {
  return shape.number({"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts"});
}

ParameterCounts hf_mlp_parameters(const HfShape& layer, HfMlp mlp) {
  ParameterCounts counts;
  const bool is_experts = mlp == HfMlp::experts || (mlp == HfMlp::by_rule && has_experts(layer));
  if (is_experts) counts = expert_parameters(layer);
  // Gemma 4 has its experts beside the MLP, not in its place.
  if (!is_experts || layer.flag({"enable_moe_block"}))
    counts[ParameterPart::dense] =
        matrices(layer, layer.hidden(), dense_size(layer), layer.flag({"mlp_bias"}) || layer.has(HfTrait::mlp_bias));
  return counts;
}

}  // namespace hybridkv
