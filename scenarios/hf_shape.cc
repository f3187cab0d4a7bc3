#include "scenarios/hf_shape.h"

#include <charconv>
#include <cstdlib>

#include "scenarios/hf_defaults.h"

namespace hybridkv {

std::optional<std::int64_t> hf_count(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, number);
  const bool is_whole = error == std::errc{} && (stop == end || std::string_view(stop) == ".0");
  return is_whole && number >= 0 && number <= 1'000'000'000 ? std::optional(number) : std::nullopt;
}

Checked hf_kind_number(const YamlNode* kind, const char* name, Checked otherwise) {
  const YamlNode* value = kind ? kind->find(name) : nullptr;
  const std::optional<std::int64_t> number = value ? hf_count(*value) : std::nullopt;
  return number ? Checked(*number) : otherwise;
}

HfShape::HfShape(const HfFields& fields, std::string model_type)
    : fields_(&fields), model_type_(std::move(model_type)) {}

HfShape HfShape::of_layer(std::int64_t layer, std::int64_t layers, bool is_windowed) const {
  HfShape shape = *this;
  shape.layer_ = layer;
  shape.layers_ = layers;
  shape.own_ = is_windowed ? fields_->own_of_layer(layer, {"sliding_attention"})
                           : fields_->own_of_layer(layer, {"full_attention", "indexed_attention", "chunked_attention"});
  return shape;
}

const YamlNode* HfShape::node(const char* name) const {
  if (own_)
    if (const YamlNode* value = own_->find(name); value && value->kind != YamlNode::Kind::nothing) return value;
  const auto known = cache_->nodes.find(std::string_view(name));
  if (known != cache_->nodes.end()) return known->second;
  return cache_->nodes.emplace(name, fields_->find({name})).first->second;
}

const YamlNode* HfShape::scalar(const char* name) const {
  const YamlNode* value = node(name);
  if (!value || value->kind != YamlNode::Kind::list) return value;
  return layer_ >= 0 && static_cast<std::size_t>(layer_) < value->items.size()
             ? &value->items[static_cast<std::size_t>(layer_)]
             : nullptr;
}

Checked HfShape::number(Names names, std::int64_t otherwise) const {
  for (const char* name : names)
    if (const YamlNode* value = scalar(name))
      if (const std::optional<std::int64_t> number = hf_count(*value)) return *number;
  return otherwise;
}

double HfShape::real(const char* name, double otherwise) const {
  const YamlNode* value = scalar(name);
  if (!value || value->kind != YamlNode::Kind::scalar || value->quoted) return otherwise;
  char* end = nullptr;
  const double number = std::strtod(value->text.c_str(), &end);
  constexpr double most = 1e9;
  return *end == '\0' && number >= 0 && number <= most ? number : otherwise;
}

bool HfShape::flag(Names names, bool otherwise) const {
  for (const char* name : names) {
    const YamlNode* value = scalar(name);
    if (value && value->kind == YamlNode::Kind::scalar && !value->quoted && value->text == "true") return true;
    if (value && value->kind == YamlNode::Kind::scalar && !value->quoted && value->text == "false") return false;
  }
  return otherwise;
}

std::string HfShape::word(const char* name) const {
  const YamlNode* value = scalar(name);
  if (!value || value->kind != YamlNode::Kind::scalar) return "";
  if (layer_ < 0 || !fields_->is_default(*value)) return value->text;
  auto known = cache_->default_lists.find(std::string_view(name));
  if (known == cache_->default_lists.end())
    known = cache_->default_lists.emplace(name, hf_default_layers(*value, layers_)).first;
  const auto index = static_cast<std::size_t>(layer_);
  return index < known->second.size() ? known->second[index].text : "";
}

bool HfShape::is_written(Names names) const {
  for (const char* name : names)
    if (const YamlNode* value = node(name); value && !fields_->is_default(*value)) return true;
  return false;
}

const YamlNode* HfShape::list(const char* name) const {
  const YamlNode* value = node(name);
  return value && value->kind == YamlNode::Kind::list ? value : nullptr;
}

const YamlNode* HfShape::mapping(const char* name) const {
  const YamlNode* value = node(name);
  return value && value->kind == YamlNode::Kind::mapping ? value : nullptr;
}

}  // namespace hybridkv
