#include "scenarios/hf_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>

#include "scenarios/hf_kinds.h"
#include "scenarios/hf_layer_pattern.h"
#include "scenarios/layer_pattern.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

namespace {

using Form = HfPatternForm;

/// How the configs of one architecture are read.
struct HfArchitecture {
  std::vector<std::string> model_types;  ///< values of model_type
  std::vector<std::string> class_names;  ///< values of architectures
  std::vector<HfPatternForm> forms;      ///< in which it declares its layers
  std::function<YamlNode(const HfFields&)> attention;
  std::function<YamlNode(const HfFields&)> recurrent;
  std::optional<DType> ssm_dtype;  ///< of recurrent states where the config names none; nothing: the model's
  char attention_name = 'a';       ///< of the kind in the pattern
  char recurrent_name = 'm';
};

YamlNode plain_attention(const HfFields& fields) { return hf_attention(fields, 1); }
/// Attention of Zamba2 sees the hidden states and the embeddings side by side.
YamlNode wide_attention(const HfFields& fields) { return hf_attention(fields, 2); }

const std::vector<HfArchitecture>& architectures() {
  static const std::vector<HfArchitecture> all = {
      {{"qwen3_next"},
       {"Qwen3NextForCausalLM"},
       {Form::layer_types, Form::full_attention_interval},
       plain_attention,
       hf_gdn},
      {{"qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
       {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForCausalLM",
        "Qwen3_5MoeForConditionalGeneration"},
       {Form::layer_types, Form::full_attention_interval},
       plain_attention,
       hf_gdn},
      {{"olmo_hybrid"}, {"OlmoHybridForCausalLM"}, {Form::layer_types}, plain_attention, hf_olmo_gdn},
      // States are fp32 where the config does not say: vLLM, NemotronHForCausalLMConfig.
      {{"nemotron_h"},
       {"NemotronHForCausalLM"},
       {Form::hybrid_override_pattern, Form::layers_block_type},
       hf_attention_with_head_dim,
       hf_nemotron_mamba2,
       DType::fp32,
       '*',
       'M'},
      {{"granitemoehybrid"},
       {"GraniteMoeHybridForCausalLM"},
       {Form::layer_types, Form::layers_block_type},
       plain_attention,
       hf_mamba2},
      {{"bamba"},
       {"BambaForCausalLM"},
       {Form::attn_layer_indices, Form::layers_block_type},
       plain_attention,
       hf_mamba2},
      {{"falcon_h1"}, {"FalconH1ForCausalLM"}, {Form::every_layer_both}, plain_attention, hf_mamba2},
      {{"zamba2"},
       {"Zamba2ForCausalLM"},
       {Form::layers_block_type, Form::hybrid_layer_ids},
       wide_attention,
       hf_zamba2_mamba2},
      {{"jamba"}, {"JambaForCausalLM"}, {Form::layers_block_type, Form::attn_layer_period}, plain_attention, hf_mamba1},
      {{"plamo2"}, {"Plamo2ForCausalLM"}, {Form::mamba_step}, hf_attention_with_head_dim, hf_plamo2_mamba1},
      {{"lfm2", "lfm2_moe"},
       {"Lfm2ForCausalLM", "Lfm2MoeForCausalLM"},
       {Form::layer_types, Form::full_attn_idxs},
       plain_attention,
       hf_short_conv},
      {{"kimi_linear"}, {"KimiLinearForCausalLM"}, {Form::linear_attn_config}, hf_mla, hf_kda},
      {{"bailing_hybrid", "bailing_moe_linear"},
       {"BailingMoeLinearForCausalLM", "BailingMoeLinearV2ForCausalLM", "BailingMoeV2_5ForCausalLM",
        "BailingMoeV3ForCausalLM"},
       {Form::layer_group_size},
       hf_bailing_attention,
       hf_bailing_recurrent},
      {{"minimax", "minimax_text_01", "minimax_m1"},
       {"MiniMaxForCausalLM", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"},
       {Form::attn_type_list, Form::layer_types},
       plain_attention,
       hf_linear},
  };
  return all;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One name of an architecture that a config gives, and the architecture, where it is supported.
struct NamedArchitecture {
  std::string text;  ///< "model_type 'jamba'"
  Place place;
  const HfArchitecture* architecture = nullptr;
};

void add_model_type(std::vector<NamedArchitecture>& named, const YamlNode& scope) {
  const YamlNode* type = scope.find("model_type");
  if (!type || type->kind == YamlNode::Kind::nothing) return;
  if (type->kind != YamlNode::Kind::scalar || !type->quoted)
    fail_at(type->place, "model_type: {}, where a text is expected", describe_json(*type));
  named.push_back({"model_type " + in_quotes(type->text), type->place});
  for (const HfArchitecture& known : architectures())
    if (contains(known.model_types, type->text)) named.back().architecture = &known;
}

void add_class_names(std::vector<NamedArchitecture>& named, const YamlNode& scope) {
  const YamlNode* names = scope.find("architectures");
  if (!names || names->kind == YamlNode::Kind::nothing) return;
  if (names->kind != YamlNode::Kind::list)
    fail_at(names->place, "architectures: {}, where a list of texts is expected", describe_json(*names));
  for (const YamlNode& name : names->items) {
    if (name.kind != YamlNode::Kind::scalar || !name.quoted)
      fail_at(name.place, "architectures: {}, where a text is expected", describe_json(name));
    named.push_back({"architectures " + in_quotes(name.text), name.place});
    for (const HfArchitecture& known : architectures())
      if (contains(known.class_names, name.text)) named.back().architecture = &known;
  }
}

std::string supported_text() { return fmt::format("supported: {}", fmt::join(supported_hf_model_types(), ", ")); }

/// The architecture of a config. The inner text_config is more exact than the model around it.
NamedArchitecture find_architecture(const YamlNode& root) {
  std::vector<NamedArchitecture> named;
  for (const YamlNode* scope : {root.find("text_config"), &root}) {
    if (!scope || scope->kind != YamlNode::Kind::mapping) continue;
    add_model_type(named, *scope);
    add_class_names(named, *scope);
  }
  if (named.empty())
    throw error_at({root.place.text, 0, 0},
                   "names no architecture; looked for model_type, architectures in text_config and at the top; " +
                       supported_text());
  const NamedArchitecture* found = nullptr;
  for (const NamedArchitecture& candidate : named) {
    if (!candidate.architecture) continue;
    if (found && found->architecture != candidate.architecture)
      fail_at(candidate.place, "{} is another architecture than {} in line {}; one of them is wrong", candidate.text,
              found->text, found->place.line);
    if (!found) found = &candidate;
  }
  if (!found)
    fail_at(named.front().place, "{} is no architecture that can be imported; {}", named.front().text,
            supported_text());
  return *found;
}

/// The dtype under the first of these names that is there, as model files write it; nothing where none is.
std::optional<YamlNode> find_dtype(const HfFields& fields, const std::vector<std::string>& names) {
  const YamlNode* node = fields.find(names);
  if (!node) return std::nullopt;
  const bool is_text = node->kind == YamlNode::Kind::scalar && node->quoted;
  const std::optional<DType> dtype = is_text ? parse_dtype(node->text) : std::nullopt;
  if (!dtype)
    fail_at(node->place, "{}: {} is no element type; allowed: bfloat16, float16, float32", fields.found_path(names),
            describe_json(*node));
  return tree_scalar(std::string(to_string(*dtype)), node->place);
}

void add_dtypes(YamlNode& model, const HfFields& fields, const HfArchitecture& architecture,
                std::optional<DType> chosen) {
  const std::vector<std::string> names = {"dtype", "torch_dtype"};
  std::optional<YamlNode> dtype;
  if (chosen) dtype = tree_scalar(std::string(to_string(*chosen)), model.place);
  else dtype = find_dtype(fields, names);
  if (!dtype)
    throw fields.missing(names, "element type of the model, \"bfloat16\" for most, which `hybridkv import CONFIG "
                                "--dtype bf16 -o FILE` gives");
  tree_add(model, "dtype", *dtype);
  if (const std::optional<YamlNode> ssm = find_dtype(fields, {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}))
    tree_add(model, "ssm_dtype", *ssm);
  else if (architecture.ssm_dtype)
    tree_add(model, "ssm_dtype", tree_scalar(std::string(to_string(*architecture.ssm_dtype)), model.place));
  if (const std::optional<YamlNode> cache = find_dtype(fields, {"mamba_ssm_cache_dtype"}))
    tree_add(model, "ssm_cache_dtype", *cache);
}

/// Name of the kind of sliding attention in a pattern.
constexpr char sliding_name = 'w';
/// Name of the kind of attention inside chunks.
constexpr char chunked_name = 'c';

std::string pattern_name(HfLayer layer, const HfArchitecture& architecture) {
  const std::string attention(1, architecture.attention_name);
  const std::string recurrent(1, architecture.recurrent_name);
  switch (layer) {
    case HfLayer::none: return "-";
    case HfLayer::attention: return attention;
    case HfLayer::sliding: return std::string(1, sliding_name);
    case HfLayer::chunked: return std::string(1, chunked_name);
    case HfLayer::recurrent: return recurrent;
    case HfLayer::both: break;
  }
  return attention + "+" + recurrent;
}

void add_layers(YamlNode& model, const HfFields& fields, const HfArchitecture& architecture) {
  const HfPattern pattern = read_hf_pattern(fields, architecture.forms);
  const auto has = [&](HfLayer layer) {
    return std::find(pattern.layers.begin(), pattern.layers.end(), layer) != pattern.layers.end();
  };
  YamlNode kinds = tree_mapping(pattern.place);
  if (has(HfLayer::attention) || has(HfLayer::both))
    tree_add(kinds, std::string(1, architecture.attention_name), architecture.attention(fields));
  if (has(HfLayer::recurrent) || has(HfLayer::both))
    tree_add(kinds, std::string(1, architecture.recurrent_name), architecture.recurrent(fields));
  if (has(HfLayer::sliding)) tree_add(kinds, std::string(1, sliding_name), hf_sliding_attention(fields));
  if (has(HfLayer::chunked)) tree_add(kinds, std::string(1, chunked_name), hf_chunked_attention(fields));
  if (pattern.text.find('E') != std::string::npos) {
    YamlNode none = tree_mapping(pattern.place);
    tree_add(none, "type", tree_scalar("none", pattern.place));
    tree_add(kinds, "E", std::move(none));
  }
  if (kinds.entries.empty())
    throw error_at(pattern.place, pattern.field + ": no layer has a cache; there is nothing to plan");
  tree_add(model, "kinds", std::move(kinds));
  std::vector<std::string> names;
  for (const HfLayer layer : pattern.layers) names.push_back(pattern_name(layer, architecture));
  YamlNode layers = tree_scalar(pattern.text.empty() ? layer_pattern_text(names) : pattern.text, pattern.place);
  layers.quoted = true;
  tree_add(model, "layers", std::move(layers));
}

}  // namespace

bool is_hf_config(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::mapping || root.find("kinds")) return false;
  return root.find("model_type") || root.find("architectures") || root.find("text_config");
}

YamlNode import_hf_config(const YamlNode& root, const std::string& name, const std::string& source,
                          std::optional<DType> dtype) {
  if (root.kind != YamlNode::Kind::mapping)
    fail_at(root.place, "{}, where the fields of a config are expected", describe_json(root));
  const HfFields fields(root);
  const NamedArchitecture found = find_architecture(root);
  YamlNode model = tree_mapping(found.place);
  tree_add(model, "name", tree_scalar(name, found.place));
  tree_add(model, "source", tree_scalar(fmt::format("{}, {}", source, found.text), found.place));
  add_dtypes(model, fields, *found.architecture, dtype);
  add_layers(model, fields, *found.architecture);
  return model;
}

std::vector<std::string> unread_hf_patterns(const YamlNode& root) {
  const std::vector<std::string> read = hf_pattern_fields(find_architecture(root).architecture->forms);
  std::vector<std::string> unread;
  for (const std::string& name : all_hf_pattern_fields())
    if (!contains(read, name)) unread.push_back(name);
  return unread;
}

std::string hf_model_name(const std::string& path) {
  if (path == standard_input || path == input_name(standard_input)) return "imported";
  const std::filesystem::path file(path);
  std::string name = file.stem().string();
  std::error_code error;  // of a current folder that has been removed
  if (name == "config")
    name = std::filesystem::absolute(file, error).lexically_normal().parent_path().filename().string();
  return name.empty() ? "imported" : name;
}

std::vector<std::string> supported_hf_model_types() {
  std::vector<std::string> types;
  for (const HfArchitecture& known : architectures())
    types.insert(types.end(), known.model_types.begin(), known.model_types.end());
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace hybridkv
