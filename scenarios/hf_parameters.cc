#include "scenarios/hf_parameters.h"

#include <algorithm>
#include <utility>

#include "attention/attention_spec.h"
#include "base/checked.h"
#include "mamba/recurrent_spec.h"
#include "scenarios/hf_attention_parameters.h"
#include "scenarios/hf_layer_parameters.h"
#include "scenarios/hf_tower_parameters.h"
#include "scenarios/layer_pattern.h"

namespace hybridkv {

namespace {

/// Type of a kind in the model file; empty where there is no such kind.
std::string type_of(const YamlNode* kind) {
  const YamlNode* type = kind ? kind->find("type") : nullptr;
  return type ? type->text : "";
}

bool has_window(const YamlNode& kind, const std::string& type) {
  const bool in_chunks = type == to_string(AttentionKind::chunked_local);
  return type == to_string(AttentionKind::sliding_window) || (kind.find("window_tokens") && !in_chunks);
}

bool is_family(const std::string& type) {
  bool found = false;
  for_each_family([&](const auto& family) { found = found || family_of(family).name == type; });
  return found;
}

/// Published patterns tell layers without a cache apart: E for experts, - for MLPs.
HfBlock block_without_cache(const std::string& kinds) {
  HfBlock block{.kind = kinds.empty() ? "-" : kinds};
  block.mlp = kinds.empty() ? HfMlp::dense : HfMlp::experts;
  return block;
}

HfBlock block_of(const YamlNode& model, const PatternLayer& layer) {
  HfBlock block;
  bool is_empty = true;
  for (const char name : layer.kinds) {
    const YamlNode* kind = model.find("kinds")->find(std::string(1, name));
    const std::string type = type_of(kind);
    if (type.empty() || type == "none") continue;
    is_empty = false;
    block.kind += (block.kind.empty() ? "" : "+") + std::string(1, name);
    if (is_family(type)) {
      block.family = type;
      block.recurrent = kind;
      continue;
    }
    if (type == to_string(AttentionKind::cross)) continue;  // counted with the encoder, by the class
    block.has_attention = true;
    block.attention = kind;
    block.is_windowed = has_window(*kind, type);
  }
  return is_empty ? block_without_cache(layer.kinds) : block;
}

/// Layers with parameters of their own: fewer than the pattern has where the model runs through them several times.
std::int64_t num_blocks(const HfShape& shape, std::int64_t layers) {
  if (const Checked stack = shape.number({"num_layers_per_stack"}); stack != 0) return 2 * stack;
  const std::int64_t declared = shape.number(
      {"num_hidden_layers", "num_decoder_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"}, layers);
  const bool is_looped = declared > 0 && layers % declared == 0 && !shape.has(HfTrait::experts_beside);
  return is_looped ? declared : layers;
}

/// What a layer without a cache is where the config has a list of layers.
void name_block(HfBlock& block, const HfShape& layer) {
  const std::string type = layer.word("layers_block_type");
  if (type == "moe") block.mlp = HfMlp::experts;
  // Attention to another modality keeps its keys and values beside the cache.
  if (const YamlNode* crossing = layer.list("cross_attention_layers"))
    for (const YamlNode& item : crossing->items)
      block.has_attention = block.has_attention || hf_count(item) == layer.layer();
}

std::vector<HfBlock> blocks_of(const HfShape& shape, const YamlNode& model) {
  std::vector<HfBlock> blocks;
  const std::int64_t most_own = shape.number({"num_mem_blocks"}, 1);
  std::int64_t shared = 0;
  const std::vector<PatternLayer> layers = parse_layer_pattern(model.find("layers")->text);
  const std::int64_t count = num_blocks(shape, std::ssize(layers));
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, std::ssize(layers)); ++i) {
    blocks.push_back(block_of(model, layers[static_cast<std::size_t>(i)]));
    const bool is_mixer = blocks.back().has_attention || !blocks.back().family.empty();
    if (!is_mixer) name_block(blocks.back(), shape.of_layer(i, count, false));
    if (blocks.back().has_attention) blocks.back().is_shared = shared++ >= most_own;
  }
  return blocks;
}

/// Has the model an encoder that its architecture runs?
bool runs_encoder(const HfShape& shape) {
  const YamlNode* names = shape.list("architectures");
  const bool decodes_alone = names && !names->items.empty() && names->items.front().text.ends_with("ForCausalLM");
  return shape.flag({"is_encoder_decoder"}) && !decodes_alone;
}

KindParameters& row_of(ModelParameters& parameters, const std::string& kind) {
  for (KindParameters& row : parameters.layers)
    if (row.kind == kind) return row;
  parameters.layers.push_back({.kind = kind});
  return parameters.layers.back();
}

void add_blocks(ModelParameters& parameters, const HfShape& shape, const std::vector<HfBlock>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const HfShape layer = shape.of_layer(static_cast<std::int64_t>(i), std::ssize(blocks), blocks[i].is_windowed);
    KindParameters& row = row_of(parameters, blocks[i].kind);
    row.counts += hf_layer_parameters(layer, blocks[i]);
    if (blocks[i].has_attention && row.kv_heads == 0)
      row.kv_heads = hf_parameter_kv_heads(layer, blocks[i].is_windowed, blocks[i].attention);
    if (shape.flag({"is_encoder_decoder"})) row.counts += hf_cross_parameters(layer);
  }
  if (!runs_encoder(shape)) return;
  ParameterCounts encoder;
  const std::int64_t layers = shape.number({"encoder_layers", "num_layers"}, std::ssize(blocks));
  for (std::int64_t i = 0; i < std::min<std::int64_t>(layers, most_layers); ++i)
    encoder += hf_encoder_parameters(shape.of_layer(i, layers, false));
  parameters.beside += encoder;
}

/// Is the head the table of tokens again? Of a model around a language model its own field says so.
bool is_head_tied(const HfShape& shape, const HfFields& fields) {
  const YamlNode* outer = fields.root().find("tie_word_embeddings");
  if (outer && outer->kind == YamlNode::Kind::scalar) return outer->text == "true";
  // The base of all classes ties where a class of the table says nothing.
  return shape.flag({"tie_word_embeddings"}, fields.has_class());
}

/// Rows of the table of positions; 0 where positions are reckoned.
Checked num_positions(const HfShape& shape) {
  for (const auto& [trait, usual] : {std::pair(HfTrait::positions, 1024), std::pair(HfTrait::short_positions, 512),
                                     std::pair(HfTrait::long_positions, 2048)})
    if (shape.has(trait)) return shape.number({"max_position_embeddings", "n_positions"}, usual);
  return 0;
}

/// Tables of tokens and positions, the head, the last norm.
ParameterCounts parameters_beside(const HfShape& shape, std::int64_t layers, bool is_tied) {
  const Checked hidden = shape.hidden();
  const Checked words = shape.number({"vocab_size"});
  ParameterCounts counts;
  Checked embeddings = words * shape.number({"embedding_size", "word_embed_proj_dim"}, hidden);
  embeddings += hidden * num_positions(shape);
  if (const Checked size = layers * shape.number({"hidden_size_per_layer_input"}); size != 0)
    embeddings += size * (shape.number({"vocab_size_per_layer_input"}, words) + hidden);
  // A model that hears and says codes has a table and a head for these, and none onto words.
  const Checked codes = shape.has(HfTrait::two_mlps)
                            ? shape.number({"num_codebooks"}) * shape.number({"codebook_size"})
                            : Checked(0);
  counts[ParameterPart::embeddings] = embeddings + codes * hidden;
  if (!is_tied) counts[ParameterPart::head] = (codes != 0 ? codes : words) * hidden;
  if (shape.has(HfTrait::head_layer)) counts[ParameterPart::head] += hidden * (hidden + 3) + words;
  if (const Checked streams = shape.number({"altup_num_inputs"}); streams > 1)
    counts[ParameterPart::dense] = 2 * (streams - 1) * hidden * hidden;
  counts[ParameterPart::norms] = hidden * (shape.has(HfTrait::layer_norm) ? 2 : 1);
  return counts;
}

/// Layers that draft tokens: the last one with full attention again, its input the hidden state and a token side by
/// side. Source: DeepSeek-V3, Qwen3-Next and their followers.
ParameterCounts draft_parameters(const HfShape& shape, const std::vector<HfBlock>& blocks) {
  const std::int64_t drafts = shape.number({"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers"});
  ParameterCounts counts;
  const auto is_full = [](const HfBlock& block) { return block.has_attention && !block.is_windowed; };
  const auto last = std::find_if(blocks.rbegin(), blocks.rend(), is_full);
  if (drafts == 0 || last == blocks.rend() || shape.has(HfTrait::one_mixer)) return counts;
  const HfShape layer = shape.of_layer(std::distance(last, blocks.rend()) - 1, std::ssize(blocks), false);
  ParameterCounts one = hf_layer_parameters(layer, *last);
  one[ParameterPart::dense] = Checked(one[ParameterPart::dense]) + 2 * shape.hidden() * shape.hidden();
  one[ParameterPart::norms] = Checked(one[ParameterPart::norms]) + 3 * shape.hidden();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(drafts, most_layers); ++i) counts += one;
  return counts;
}

/// The name under which traits know the language model: a config without text_config has the name of the whole.
std::string trait_name(const HfFields& fields) {
  const std::string& type = fields.model_type();
  return !has_traits(type) && has_traits(type + "_text") ? type + "_text" : type;
}

/// Sections of a config that describe towers of other modalities: counted where a rule is known, else named.
void add_towers(ModelParameters& parameters, const HfShape& shape, const HfFields& fields) {
  const YamlNode* whole = fields.root().find("model_type");
  const std::string around = whole && whole->kind == YamlNode::Kind::scalar ? whole->text : "";
  const HfFields outer = fields.with(fields.root());
  for (const char* name : {"vision", "audio", "speech"}) {
    const std::optional<HfFields> section = outer.section(std::string(name) + "_config");
    if (!section) continue;
    const std::optional<std::int64_t> count = hf_tower_parameters(HfShape(*section, ""), around, shape.hidden());
    if (count) parameters.beside[ParameterPart::other_modalities] += *count;
    else parameters.not_counted.emplace_back(name);
  }
}

/// Bits of quantised weights, scales included. Source: the methods of Hugging Face Transformers and vLLM.
void add_bits(ModelParameters& parameters, const HfFields& fields) {
  const std::optional<HfFields> section = fields.with(fields.root()).section("quantization_config");
  if (!section) return;
  const HfShape quantised(*section, "");
  const std::string method = quantised.word("quant_method");
  constexpr double fp8 = 8, mxfp4 = 4.25, scale = 16;
  if (method == "mxfp4") parameters.expert_bits = mxfp4;
  else if (method == "fp8" || method == "fbgemm_fp8") parameters.weight_bits = fp8;
  else if (const std::int64_t bits = quantised.number({"bits"}); bits > 0 && quantised.number({"group_size"}) != 0)
    parameters.weight_bits = static_cast<double>(bits) + scale / static_cast<double>(quantised.number({"group_size"}));
  else parameters.not_counted.push_back("scales of " + (method.empty() ? "the quantisation" : method));
}

ModelParameters counted(const HfShape& shape, const HfFields& fields, const YamlNode& model) {
  ModelParameters parameters;
  const std::vector<HfBlock> blocks = blocks_of(shape, model);
  add_blocks(parameters, shape, blocks);
  parameters.beside += parameters_beside(shape, std::ssize(blocks), is_head_tied(shape, fields));
  parameters.draft = draft_parameters(shape, blocks);
  if (counts_of(parameters)[ParameterPart::routed_experts] != 0) {
    parameters.experts = hf_experts(shape);
    parameters.experts_per_token = hf_experts_per_token(shape);
  }
  add_towers(parameters, shape, fields);
  add_bits(parameters, fields);
  return parameters;
}

}  // namespace

std::optional<ModelParameters> hf_parameters(const HfFields& fields, const YamlNode& model) {
  const HfShape shape(fields, trait_name(fields));
  if (shape.hidden() == 0 || shape.number({"vocab_size"}) == 0) return std::nullopt;
  try {
    return counted(shape, fields, model);
  } catch (const InputError&) {  // A size that is not declared, or numbers too large for 64 bits.
    return std::nullopt;
  }
}

}  // namespace hybridkv
