#include "scenarios/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/suggest.h"
#include "scenarios/hf_assumptions.h"
#include "scenarios/hf_class_rules.h"
#include "scenarios/hf_defaults.h"
#include "scenarios/hf_fields.h"
#include "scenarios/hf_layers.h"
#include "scenarios/hf_parameters.h"
#include "scenarios/model_tree.h"
#include "scenarios/parameter_keys.h"

namespace hybridkv {

namespace {

/// A text that a field must be; nothing where the field is absent or null.
const YamlNode* text_field(const YamlNode& scope, const char* name) {
  const YamlNode* node = scope.find(name);
  if (!node || node->kind == YamlNode::Kind::nothing) return nullptr;
  if (node->kind != YamlNode::Kind::scalar || !node->quoted)
    fail_at(node->place, "{}: {}, where a text is expected", name, describe_json(*node));
  return node;
}

/// The first name in `architectures`; nothing where the field is absent, null or empty.
const YamlNode* class_name(const YamlNode& scope) {
  const YamlNode* names = scope.find("architectures");
  if (!names || names->kind == YamlNode::Kind::nothing) return nullptr;
  if (names->kind != YamlNode::Kind::list)
    fail_at(names->place, "architectures: {}, where a list of texts is expected", describe_json(*names));
  for (const YamlNode& name : names->items)
    if (name.kind != YamlNode::Kind::scalar || !name.quoted)
      fail_at(name.place, "architectures: {}, where a text is expected", describe_json(name));
  return names->items.empty() ? nullptr : &names->items.front();
}

/// What a config calls its architecture, for the source of the model file: "model_type 'jamba'".
struct NamedArchitecture {
  std::string text;
  Place place;
};

/// The name that tells the most: the language model's before that of the model around it.
NamedArchitecture named_architecture(const HfFields& fields) {
  std::optional<NamedArchitecture> named;
  for (const YamlNode* scope : {fields.text(), &fields.root()}) {
    if (!scope) continue;
    const YamlNode* type = text_field(*scope, "model_type");
    const YamlNode* name = class_name(*scope);
    if (!named && type) named = {"model_type " + in_quotes(type->text), type->place};
    if (!named && name) named = {"architectures " + in_quotes(name->text), name->place};
  }
  if (!named)
    throw error_at({fields.root().place.text, 0, 0},
                   "names no architecture; looked for model_type, architectures in text_config and at the top");
  return *named;
}

/// The name itself where a class of the table has it.
const std::string& known_class(const std::string& name) {
  const std::vector<std::string>& known = hf_known_classes();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw InputError(fmt::format("{} is no class of {}{}", in_quotes(name), hf_defaults_package(),
                                 did_you_mean(name, known)));
  return name;
}

/// The dtype under the first of these names that is there, as model files write it; nothing where none is.
std::optional<YamlNode> find_dtype(const HfFields& fields, const std::vector<std::string>& names) {
  const YamlNode* node = fields.find_written(names);
  if (!node) return std::nullopt;
  const bool is_text = node->kind == YamlNode::Kind::scalar && node->quoted;
  const std::optional<DType> dtype = is_text ? parse_dtype(node->text) : std::nullopt;
  if (!dtype)
    fail_at(node->place, "{}: {} is no element type; allowed: bfloat16, float16, float32", fields.found_path(names),
            describe_json(*node));
  return tree_scalar(std::string(to_string(*dtype)), node->place);
}

void add_dtypes(YamlNode& model, const HfFields& fields, std::optional<DType> chosen) {
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
  else if (const std::optional<DType> own = hf_class_rules(fields.model_type()).ssm_dtype)
    tree_add(model, "ssm_dtype", tree_scalar(std::string(to_string(*own)), model.place));
  if (const std::optional<YamlNode> cache = find_dtype(fields, {"mamba_ssm_cache_dtype"}))
    tree_add(model, "ssm_cache_dtype", *cache);
}

/// Does a description of a quantised KV cache mean 8 bits of a floating-point number?
bool is_fp8(const YamlNode& scheme) {
  if (scheme.kind == YamlNode::Kind::scalar) return equal_ignoring_case(scheme.text, "fp8");
  const YamlNode* bits = scheme.find("num_bits");
  const YamlNode* type = scheme.find("type");
  return bits && type && bits->text == "8" && type->text == "float";
}

/// K and V in 8 bits where the checkpoint's quantisation says so: compressed-tensors (kv_cache_scheme) and ModelOpt
/// (kv_cache_quant_algo). Other formats need a flag, which unused_hf_fields names.
void add_kv_dtype(YamlNode& model, const HfFields& fields) {
  for (const YamlNode* scope : {fields.text(), &fields.root()}) {
    const YamlNode* config = scope ? scope->find("quantization_config") : nullptr;
    if (!config) continue;
    const YamlNode* inner = config->find("quantization");
    for (const char* name : {"kv_cache_scheme", "kv_cache_quant_algo"})
      for (const YamlNode* section : {config, inner})
        if (const YamlNode* scheme = section ? section->find(name) : nullptr; scheme && is_fp8(*scheme))
          return tree_add(model, "kv_dtype", tree_scalar(std::string(to_string(DType::fp8_e4m3)), scheme->place));
  }
}

}  // namespace

bool is_hf_config(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::mapping || root.find("kinds")) return false;
  return root.find("model_type") || root.find("architectures") || root.find("text_config");
}

HfFields hf_fields(const YamlNode& root, const std::string& as_class) {
  if (root.kind != YamlNode::Kind::mapping)
    fail_at(root.place, "{}, where the fields of a config are expected", describe_json(root));
  return as_class.empty() ? HfFields(root) : HfFields(root).as_class(known_class(as_class));
}

YamlNode import_hf_config(const YamlNode& root, const std::string& name, const std::string& source,
                          std::optional<DType> dtype, const std::string& as_class) {
  return import_hf_fields(hf_fields(root, as_class), name, source, dtype);
}

YamlNode import_hf_fields(const HfFields& fields, const std::string& name, const std::string& source,
                          std::optional<DType> dtype) {
  const NamedArchitecture found = named_architecture(fields);
  YamlNode model = tree_mapping(found.place);
  tree_add(model, "name", tree_scalar(name, found.place));
  tree_add(model, "source", tree_scalar(fmt::format("{}, {}", source, found.text), found.place));
  add_dtypes(model, fields, dtype);
  add_kv_dtype(model, fields);
  add_hf_layers(model, fields);
  refuse_unread_states(fields, model);
  if (const std::optional<ModelParameters> parameters = hf_parameters(fields, model))
    tree_add(model, "parameters", parameters_tree(*parameters, found.place));
  return model;
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

}  // namespace hybridkv
