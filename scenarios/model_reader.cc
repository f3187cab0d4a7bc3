#include "scenarios/model_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/suggest.h"
#include "planner/indexers.h"
#include "scenarios/embedded_files.h"
#include "scenarios/hf_config.h"
#include "scenarios/hf_hub.h"
#include "scenarios/hf_unused.h"
#include "scenarios/json_tree.h"
#include "scenarios/layer_pattern.h"
#include "scenarios/model_keys.h"
#include "scenarios/model_library.h"

namespace hybridkv {

namespace {

/// An error inside the pattern of layers: at the character itself where the pattern stands on one line as it is.
InputError pattern_error(const std::string& path, const YamlNode& node, std::size_t offset,
                         const std::string& message) {
  Place place = node.place;
  const std::string shown = fmt::format("{}: in {}: {}", path, in_quotes(node.text), message);
  if (place.line == 0) return error_at(place, shown);
  const std::string& line = place.text->lines[static_cast<std::size_t>(place.line - 1)];
  const std::size_t begin = line.find(node.text);
  if (begin != std::string::npos && line.find(node.text, begin + 1) == std::string::npos)
    place.column += static_cast<std::int64_t>(offset) + (node.quoted ? 1 : 0);
  return error_at(place, shown);
}

/// Is the text an object of JSON as far as its first two characters tell? In YAML such a mapping would be in one line.
bool begins_as_json(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t brace = text.find_first_not_of(blanks);
  if (brace == std::string_view::npos || text[brace] != '{') return false;
  const std::size_t next = text.find_first_not_of(blanks, brace + 1);
  return next != std::string_view::npos && text[next] == '"';
}

/// The layer that holds the kinds of one place of the pattern.
LayerSpec joined_layer(const PatternLayer& layer, const std::map<std::string, LayerKind>& kinds) {
  LayerSpec joined;
  for (const char name : layer.kinds) {
    const auto kind = kinds.find(std::string(1, name));
    if (kind == kinds.end()) {
      std::vector<std::string> names;
      for (const auto& known : kinds) names.push_back(known.first);
      throw PatternError(layer.offset, fmt::format("'{}' is no kind{}", name, suggestion("", names, "known kinds:")));
    }
    const bool attends = joined.attention || joined.shared;
    if ((attends && (kind->second.attention || kind->second.shared)) || (joined.recurrent && kind->second.recurrent) ||
        (joined.cross && kind->second.cross))
      throw PatternError(layer.offset, "'+' joins one kind of attention, one of cross attention and a recurrent one");
    if (kind->second.attention) joined.attention = kind->second.attention;
    if (kind->second.recurrent) joined.recurrent = kind->second.recurrent;
    if (kind->second.shared) joined.shared = kind->second.shared;
    if (kind->second.cross) joined.cross = kind->second.cross;
  }
  return joined;
}

/// The layer that one reads which shares K and V.
void read_last(LayerSpec& shares, const PatternLayer& layer, const ModelText& text,
               const std::map<std::string, std::int64_t>& last) {
  if (!shares.shared) return;
  for (const char name : layer.kinds) {
    const std::string& of = text.kinds.at(std::string(1, name)).of;
    if (of.empty()) continue;
    const auto source = last.find(of);
    if (source == last.end())
      throw PatternError(layer.offset, fmt::format("'{}' reads the K and V of '{}', and no earlier layer is one", name,
                                                   of));
    shares.shared->source = source->second;
  }
}

void expand_layers(ReadContext& context, const std::string& path, const YamlNode& node, const ModelText& text,
                   ModelSpec& model) {
  std::map<std::string, std::int64_t> last;  // layer of each kind
  try {
    for (const PatternLayer& layer : parse_layer_pattern(text.layers)) {
      const std::string layer_path = fmt::format("{}.layers[{}]", path, model.layers.size());
      for (const char name : layer.kinds) {
        const auto kind = text.kinds.find(std::string(1, name));
        if (kind == text.kinds.end()) continue;
        const char* part = kind->second.attention ? ".attention"
                           : kind->second.shared  ? ".shared"
                           : kind->second.cross   ? ".cross"
                                                  : ".recurrent";
        context.places.add_alias(layer_path + part, fmt::format("{}.kinds.{}", path, name));
      }
      model.layers.push_back(joined_layer(layer, text.kinds));
      read_last(model.layers.back(), layer, text, last);
      for (const char name : layer.kinds) last[std::string(1, name)] = std::ssize(model.layers) - 1;
    }
  } catch (const PatternError& error) {
    throw pattern_error(path + ".layers", node, error.offset(), error.what());
  }
}

AttentionSpec mtp_attention(const std::string& path, const YamlNode& node, const ModelText& text) {
  const auto kind = text.kinds.find(text.mtp);
  if (kind == text.kinds.end() || !kind->second.attention)
    throw error_at(node.place, fmt::format("{}.mtp: {} is no kind of attention", path, in_quotes(text.mtp)));
  return *kind->second.attention;
}

std::vector<RecurrentSpec> auxiliary_layers(const std::string& path, const YamlNode& node, const ModelText& text) {
  std::vector<RecurrentSpec> layers;
  for (const char name : text.auxiliary) {
    const auto kind = text.kinds.find(std::string(1, name));
    if (kind == text.kinds.end() || !kind->second.recurrent)
      throw error_at(node.place, fmt::format("{}.auxiliary: {} is no kind of recurrent layer", path,
                                             in_quotes(std::string(1, name))));
    layers.push_back(*kind->second.recurrent);
  }
  return layers;
}

/// The model's key speaks for the layers whose kinds say nothing; a kind says 0 where it has none.
void share_out_indexers(const ModelText& text, ModelSpec& model) {
  if (text.indexer_bytes_per_token > 0) add_indexers(model, {text.indexer_bytes_per_token, 1});
  const auto drop_empty = [](auto& attention) {
    if (attention && attention->indexer && attention->indexer->bytes_per_entry == 0) attention->indexer.reset();
  };
  for (LayerSpec& layer : model.layers) {
    drop_empty(layer.attention);
    drop_empty(layer.shared);
  }
  drop_empty(model.mtp);
}

/// The parameters with the KV heads of each kind, which the kinds themselves say.
ModelParameters parameters_of(const std::string& path, const YamlNode& node, const ModelText& text) {
  ModelParameters parameters = *text.parameters;
  for (KindParameters& row : parameters.layers)
    for (const char name : row.kind) {
      if (name == '+' || name == '-') continue;
      const auto kind = text.kinds.find(std::string(1, name));
      if (kind == text.kinds.end())
        throw error_at(node.place, fmt::format("{}.parameters.layers: {} is no kind", path, in_quotes(row.kind)));
      const std::optional<AttentionSpec>& attention = kind->second.attention;
      if (attention && !is_latent(attention->kind)) row.kv_heads = attention->kv_heads;
    }
  return parameters;
}

/// Reads the model file that a scenario names.
ModelSpec read_model_file(ReadContext& context, const std::string& path, const YamlNode& node) {
  ModelReference reference;
  model_reference_keys().read(context, path, node, reference);
  const YamlNode& value = *node.find("file");
  const std::filesystem::path file = model_file_path(value);
  const FileText text = read_text_file(file.string());
  if (!text.problem.empty())
    throw error_at(value.place, fmt::format("{}.file: {}: {}", path, in_quotes(file.string()), text.problem));
  const YamlNode root =
      parse_model_text(text.text, {input_name(file.string()), file.parent_path().string(), {}}, &context.notes);
  return read_model_mapping(context, path, root).model;
}

}  // namespace

std::string model_file_path(const YamlNode& name) {
  if (is_hub_name(name.text)) return hub_config(name.text);
  const std::filesystem::path directory = name.place.text->directory;
  return config_in((directory / name.text).lexically_normal().string());
}

std::string config_in(const std::string& path) {
  if (is_hub_name(path)) return hub_config(path);
  const std::filesystem::path config = std::filesystem::path(path) / "config.json";
  std::error_code error;
  return std::filesystem::is_regular_file(config, error) ? config.string() : path;
}

YamlNode parse_yaml_or_json(std::string_view text, SourceText source) {
  const bool is_json = source.name.ends_with(".json") || begins_as_json(text);
  return is_json ? parse_json(text, std::move(source)) : parse_yaml(text, std::move(source));
}

bool is_model(const YamlNode& root) {
  if (root.find("engine") || root.find("limits") || root.find("model")) return false;
  return is_hf_config(root) || root.find("kinds") || root.find("layers");
}

YamlNode parse_model_text(std::string_view text, SourceText source, std::vector<std::string>* notes) {
  const std::string name = source.name;
  YamlNode root = parse_yaml_or_json(text, std::move(source));
  const bool is_json = name.ends_with(".json") && root.kind == YamlNode::Kind::mapping && !root.find("kinds");
  if (!is_hf_config(root) && !is_json) return root;
  const HfFields fields = hf_fields(root, "");
  YamlNode model = import_hf_fields(fields, hf_model_name(name), name);
  if (notes != nullptr)
    for (const std::string& unused : unused_hf_fields(fields, model)) notes->push_back(name + ": " + unused);
  return model;
}

ModelFile read_model_mapping(ReadContext& context, const std::string& path, const YamlNode& node) {
  ModelText text;
  model_keys().read(context, path, node, text);
  ModelSpec model;
  model.name = text.name;
  model.source = text.source.empty() ? node.place.text->name : text.source;
  model.layer_order_verified = text.layer_order_verified;
  model.dtype = text.dtype;
  model.ssm_dtype = text.ssm_dtype;
  model.ssm_cache_dtype = text.ssm_cache_dtype;
  model.kv_dtype = text.kv_dtype;
  expand_layers(context, path, *node.find("layers"), text, model);
  model.extra_blocks_per_request = text.extra_blocks_per_request;
  model.kda_exports_states = text.kda_exports_states;
  model.encoder_tokens = text.encoder_tokens;
  model.ring_tokens = text.ring_tokens;
  model.ring_bytes_per_token = text.ring_bytes_per_token;
  for (const std::string& order : text.physical_orders)
    if (const auto parsed = parse_cache_order(order))
      model.cache_orders.push_back(*parsed);
    else
      throw SpecError(path + ".physical_orders", fmt::format("{} is no order of one allocation; take {}", order,
                                                             fmt::join(names_of(cache_order_names), ", ")));
  if (const YamlNode* auxiliary = node.find("auxiliary")) model.auxiliary = auxiliary_layers(path, *auxiliary, text);
  if (const YamlNode* mtp = node.find("mtp")) {
    model.mtp = mtp_attention(path, *mtp, text);
    context.places.add_alias(path + ".mtp", fmt::format("{}.kinds.{}", path, text.mtp));
  }
  share_out_indexers(text, model);
  if (text.parameters) model.parameters = parameters_of(path, *node.find("parameters"), text);
  return {std::move(model), std::move(text.aliases), std::move(text.unverified)};
}

ModelFile read_shipped_model(ReadContext& context, const std::string& path, const std::string& file) {
  for (const EmbeddedFile& embedded : embedded_files())
    if (embedded.path == file)
      return read_model_mapping(context, path, parse_yaml(embedded.text, {"shipped:" + file, "", {}}));
  throw std::logic_error("no embedded file " + file);
}

ModelSpec read_model(ReadContext& context, const std::string& path, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::mapping)
    return node.find("file") ? read_model_file(context, path, node) : read_model_mapping(context, path, node).model;
  const std::string name = read_text(path, node);
  const ShippedModel* shipped = find_shipped_model(name);
  if (!shipped) {
    const bool is_file = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    const char* const nor_file = !is_file && name.find('/') != std::string::npos ? ", and no such file" : "";
    throw error_at(node.place, fmt::format("{}: unknown model {}{}{}", path, in_quotes(name), nor_file,
                                           is_file ? fmt::format("; for a file write {{file: {}}}", name)
                                                   : shipped_model_suggestion(name)));
  }
  ModelSpec model = read_shipped_model(context, path, shipped->file).model;
  model.name = shipped_name(*shipped, name);
  if (std::string assumed = assumed_of_name(*shipped, name); !assumed.empty())
    context.notes.push_back(std::move(assumed));
  return model;
}

}  // namespace hybridkv
