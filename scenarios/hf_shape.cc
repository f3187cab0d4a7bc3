#include "scenarios/hf_shape.h"

#include <charconv>
#include <cstdlib>

namespace hybridkv {

namespace {

const YamlNode* own_fields(const YamlNode* layers, std::int64_t layer) {
  if (!layers) return nullptr;
  for (const YamlEntry& entry : layers->entries) {
    // Keys are padded with zeros: "05".
    std::int64_t number = -1;
    const char* const end = entry.key.data() + entry.key.size();
    if (std::from_chars(entry.key.data(), end, number).ptr == end && number == layer) return &entry.value;
  }
  return nullptr;
}

}  // namespace

std::optional<std::int64_t> hf_count(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, number);
  const bool is_whole = error == std::errc{} && (stop == end || std::string_view(stop) == ".0");
  return is_whole && number >= 0 && number <= 1'000'000'000 ? std::optional(number) : std::nullopt;
}

HfShape::HfShape(const HfFields& fields, std::string model_type)
    : fields_(&fields), model_type_(std::move(model_type)) {}

HfShape HfShape::of_layer(std::int64_t layer) const {
  HfShape shape = *this;
  shape.layer_ = layer;
  shape.own_ = own_fields(mapping("per_layer_config"), layer);
  return shape;
}

const YamlNode* HfShape::node(const char* name) const {
  if (own_)
    if (const YamlNode* value = own_->find(name); value && value->kind != YamlNode::Kind::nothing) return value;
  const auto known = cache_->find(std::string_view(name));
  if (known != cache_->end()) return known->second;
  return cache_->emplace(name, fields_->find({name})).first->second;
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
  return value && value->kind == YamlNode::Kind::scalar ? value->text : "";
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
