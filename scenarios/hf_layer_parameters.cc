#include "scenarios/hf_layer_parameters.h"

#include "scenarios/hf_attention_parameters.h"
#include "scenarios/hf_recurrent_parameters.h"

namespace hybridkv {

namespace {

/// Embeddings and mixtures that a layer has beside mixer and MLP: of its own inputs, of several streams.
Checked layer_inputs(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  Checked sum = 0;
  if (const Checked size = layer.number({"hidden_size_per_layer_input"}); size != 0) sum += hidden * (2 * size + 1);
  if (const Checked rank = layer.number({"laurel_rank"}); rank != 0) sum += hidden * (2 * rank + 1);
  if (const Checked streams = layer.number({"altup_num_inputs"}); streams != 0)
    sum += hidden * (streams + 2) + streams * streams * (streams + 1);
  if (const Checked rank = layer.number({"gated_norm_rank"}); rank != 0) sum += 4 * rank * hidden;
  // Scales and shifts of both residuals.
  if (layer.number({"cca_time0"}) != 0) sum += 8 * hidden;
  return sum;
}

/// What spreads each of mixer and MLP over several residual streams.
Checked stream_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  if (const Checked streams = layer.number({"hc_mult"}); streams != 0) {
    const Checked rows = layer.has(HfTrait::hyper_short) ? 2 * streams : streams * (streams + 2);
    return 2 * (rows * streams * hidden + rows + 3);
  }
  const Checked streams = layer.number({"hc_count"});
  return 2 * streams * hidden * (1 + 2 * layer.number({"hc_lowrank"}) + streams);
}

/// Embeddings of n-grams that some layers add.
Checked ngram_parameters(const HfShape& layer) {
  const YamlNode* layers = layer.list("ple_layer_ids");
  if (!layers) return 0;
  bool is_listed = false;
  for (const YamlNode& item : layers->items) is_listed = is_listed || hf_count(item) == layer.layer() + 1;
  if (!is_listed) return 0;
  const Checked hidden = layer.hidden();
  const Checked size = layer.number({"ple_embed_dim"}, hidden);
  const Checked wide = layer.number({"hc_count"}, 1) * hidden;
  return layer.number({"ngram_vocab_size_base"}) * size + size * (wide + hidden) +
         wide * (3 + layer.number({"ple_conv_kernel_size"}));
}

std::int64_t norms_of_layer(const HfShape& layer) {
  if (layer.has(HfTrait::no_norm)) return 0;
  if (layer.has(HfTrait::one_norm) || layer.has(HfTrait::one_mixer)) return 1;
  return layer.has(HfTrait::four_norms) ? 4 : 2;
}

/// A layer of attention that serves several: where it is used it has a matrix and adapters of its own.
ParameterCounts shared_layer(const HfShape& layer, const HfBlock& block) {
  const Checked hidden = layer.hidden();
  ParameterCounts counts;
  counts[ParameterPart::recurrent] = hf_recurrent_parameters(layer, block.family, block.recurrent);
  counts[ParameterPart::norms] = hidden;
  if (!block.has_attention) return counts;
  const Checked rank = layer.number({"adapter_rank"});
  const Checked inner = layer.number({"intermediate_size"}, 4 * hidden);
  counts[ParameterPart::dense] = hidden * hidden + rank * (hidden + 2 * inner);
  if (block.is_shared) return counts;
  counts += hf_attention_parameters(layer, block.is_windowed, block.attention);
  counts += hf_mlp_parameters(layer, HfMlp::dense);
  counts[ParameterPart::norms] += 3 * hidden;
  return counts;
}

/// Two mixers with an MLP each form a layer whose experts stand beside them; `layer` is one of the two.
ParameterCounts half_layer(const HfShape& layer, const HfBlock& block) {
  ParameterCounts counts = hf_attention_parameters(layer, block.is_windowed, block.attention);
  counts += hf_mlp_parameters(layer, HfMlp::dense);
  if (layer.layer() % 2 == 0) counts += hf_mlp_parameters(layer, HfMlp::experts);
  counts[ParameterPart::norms] += 2 * layer.hidden();
  return counts;
}

Checked norm_of(const HfShape& layer) { return layer.hidden() * (layer.has(HfTrait::layer_norm) ? 2 : 1); }

}  // namespace

ParameterCounts hf_cross_parameters(const HfShape& layer) {
  ParameterCounts counts = hf_attention_parameters(layer, false, nullptr);
  counts[ParameterPart::norms] += norm_of(layer);
  return counts;
}

ParameterCounts hf_encoder_parameters(const HfShape& layer) {
  ParameterCounts counts = hf_attention_parameters(layer, false, nullptr);
  counts += hf_mlp_parameters(layer, HfMlp::dense);
  counts[ParameterPart::norms] += 2 * norm_of(layer);
  return counts;
}

ParameterCounts hf_layer_parameters(const HfShape& layer, const HfBlock& block) {
  if (layer.has(HfTrait::shared_layers)) return shared_layer(layer, block);
  if (layer.has(HfTrait::experts_beside)) return half_layer(layer, block);
  ParameterCounts counts;
  if (!block.family.empty())
    counts[ParameterPart::recurrent] = hf_recurrent_parameters(layer, block.family, block.recurrent);
  if (block.has_attention) counts += hf_attention_parameters(layer, block.is_windowed, block.attention);
  const bool is_mixer = block.has_attention || !block.family.empty();
  if (!layer.has(HfTrait::one_mixer) || !is_mixer) counts += hf_mlp_parameters(layer, block.mlp);
  counts[ParameterPart::norms] = Checked(counts[ParameterPart::norms]) + stream_parameters(layer) +
                                 norms_of_layer(layer) * norm_of(layer);
  counts[ParameterPart::dense] =
      Checked(counts[ParameterPart::dense]) * (layer.has(HfTrait::two_mlps) ? 2 : 1) + layer_inputs(layer);
  counts[ParameterPart::embeddings] = ngram_parameters(layer);
  return counts;
}

}  // namespace hybridkv
