#include "scenarios/parameter_keys.h"

#include <fmt/format.h>

#include <utility>

#include "scenarios/key_builders.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

namespace {

std::string part_doc(ParameterPart part) {
  switch (part) {
    case ParameterPart::attention: return "of queries and outputs of attention, split by heads; default 0";
    case ParameterPart::keys_values: return "of keys and values, split by KV heads; default 0";
    case ParameterPart::latents: return "into latents and of indexers, whole on every rank; default 0";
    case ParameterPart::recurrent: return "of the recurrent part; default 0";
    case ParameterPart::dense: return "of MLPs that every token takes; default 0";
    case ParameterPart::routed_experts: return "of routed experts, all of them; default 0";
    case ParameterPart::shared_experts: return "of shared experts; default 0";
    case ParameterPart::norms: return "of norms and routers, whole on every rank; default 0";
    case ParameterPart::embeddings: return "of tables of tokens; default 0";
    case ParameterPart::head: return "onto the vocabulary, where that is no table of tokens again; default 0";
    case ParameterPart::other_modalities: return "of towers that see or hear; default 0";
  }
  return "";
}

/// One key for each part; `counts_in` finds them in the spec.
template <class Spec, class CountsIn>
void add_part_keys(Section<Spec>& keys, CountsIn counts_in) {
  for (const ParameterPart part : all_parameter_parts)
    keys.integer_by(amount(std::string(to_string(part)), "parameters " + part_doc(part), 0),
                    [counts_in, part](Spec& spec, std::int64_t value) { counts_in(spec)[part] = value; });
}

const Section<ParameterCounts>& counts_keys() {
  static const Section<ParameterCounts> section = [] {
    Section<ParameterCounts> keys("parameters of a part", "Parameters of no layer of the pattern, by part.");
    add_part_keys(keys, [](ParameterCounts& counts) -> ParameterCounts& { return counts; });
    return keys;
  }();
  return section;
}

const Section<KindParameters>& kind_parameter_keys() {
  static const Section<KindParameters> section = [] {
    Section<KindParameters> keys("parameters of a kind", "Parameters of all layers of one kind, by part.");
    keys.text(required(key("kind", "the kind as in the pattern of layers, \"-\" for those without a cache")),
              &KindParameters::kind);
    add_part_keys(keys, [](KindParameters& kind) -> ParameterCounts& { return kind.counts; });
    return keys;
  }();
  return section;
}

YamlNode parameter_scalar(std::int64_t value, const Place& place) { return tree_scalar(std::to_string(value), place); }

void add_counts(YamlNode& mapping, const ParameterCounts& counts, const Place& place) {
  for (const ParameterPart part : all_parameter_parts)
    if (counts[part] != 0) tree_add(mapping, std::string(to_string(part)), parameter_scalar(counts[part], place));
}

YamlNode counts_tree(const ParameterCounts& counts, const Place& place) {
  YamlNode mapping = tree_mapping(place);
  add_counts(mapping, counts, place);
  return mapping;
}

YamlNode list_tree(const Place& place) {
  YamlNode list = tree_mapping(place);
  list.kind = YamlNode::Kind::list;
  return list;
}

}  // namespace

const Section<ModelParameters>& parameter_keys() {
  static const Section<ModelParameters> section = [] {
    Section<ModelParameters> keys("parameters", "How many parameters the model has, and where.");
    KeyInfo layers = required(key("layers", "the kinds of layer, each with its parameters"));
    keys.integer(count("experts", "routed experts of a layer; default 0, none", 0), &ModelParameters::experts)
        .integer(count("experts_per_token", "routed experts that one token takes; default 0", 0),
                 &ModelParameters::experts_per_token)
        .number(key("weight_bits", "bits of an element of the layers, scales included; default: those of dtype"),
                &ModelParameters::weight_bits)
        .number(key("expert_bits", "bits of an element of routed experts; default: weight_bits"),
                &ModelParameters::expert_bits)
        .sections(std::move(layers), &ModelParameters::layers, kind_parameter_keys())
        .section(key("beside", ""), &ModelParameters::beside, counts_keys())
        .section(key("draft", ""), &ModelParameters::draft, counts_keys())
        .texts(key("not_counted", "parts that are not counted, such as vision; default: none"),
               &ModelParameters::not_counted);
    return keys;
  }();
  return section;
}

YamlNode parameters_tree(const ModelParameters& parameters, const Place& place) {
  YamlNode tree = tree_mapping(place);
  if (parameters.experts != 0) {
    tree_add(tree, "experts", parameter_scalar(parameters.experts, place));
    tree_add(tree, "experts_per_token", parameter_scalar(parameters.experts_per_token, place));
  }
  for (const auto& [name, bits] : {std::pair("weight_bits", parameters.weight_bits),
                                   std::pair("expert_bits", parameters.expert_bits)})
    if (bits) tree_add(tree, name, tree_scalar(fmt::format("{}", *bits), place));
  YamlNode layers = list_tree(place);
  for (const KindParameters& kind : parameters.layers) {
    layers.items.push_back(tree_mapping(place));
    YamlNode name = tree_scalar(kind.kind, place);
    name.quoted = true;
    tree_add(layers.items.back(), "kind", std::move(name));
    add_counts(layers.items.back(), kind.counts, place);
  }
  tree_add(tree, "layers", std::move(layers));
  tree_add(tree, "beside", counts_tree(parameters.beside, place));
  if (parameters.draft.total() != 0) tree_add(tree, "draft", counts_tree(parameters.draft, place));
  if (parameters.not_counted.empty()) return tree;
  YamlNode towers = list_tree(place);
  for (const std::string& tower : parameters.not_counted) towers.items.push_back(tree_scalar(tower, place));
  tree_add(tree, "not_counted", std::move(towers));
  return tree;
}

}  // namespace hybridkv
