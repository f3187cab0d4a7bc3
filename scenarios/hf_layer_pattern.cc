#include "scenarios/hf_layer_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "scenarios/key_table.h"
#include "scenarios/layer_pattern.h"

namespace hybridkv {

namespace {


constexpr std::array<std::pair<std::string_view, HfLayer>, 12> layer_words{{
    {"full_attention", HfLayer::attention},
    {"attention", HfLayer::attention},
    {"sliding_attention", HfLayer::sliding},
    {"chunked_attention", HfLayer::chunked},
    {"linear_attention", HfLayer::recurrent},
    {"mamba", HfLayer::recurrent},
    {"conv", HfLayer::recurrent},
    {"short_conv", HfLayer::recurrent},
    {"hybrid", HfLayer::both},
    {"mlp", HfLayer::none},
    {"moe", HfLayer::none},
    {"ffn", HfLayer::none},
}};

/// The number of layers of a form that does not tell it itself.
std::int64_t num_layers(const HfFields& fields) {
  const HfNumber number = fields.number({"num_hidden_layers"}, "layers of the model");
  if (number.value > most_layers)
    fail_at(number.place, "{}: {} layers are more than {}", number.name, number.value, most_layers);
  return number.value;
}

using HfNumbers = std::vector<HfNumber>;

std::size_t index_of(const HfNumber& number, std::int64_t first, std::int64_t layers) {
  if (number.value >= first + layers)
    fail_at(number.place, "{}: there is no layer {}; the {} layers are counted from {} to {}", number.name,
            number.value, layers, first, first + layers - 1);
  return static_cast<std::size_t>(number.value - first);
}

/// Layers all of `rest` but those with these numbers, of which the first layer has the number `first`.
std::vector<HfLayer> marked_layers(const HfNumbers& numbers, std::int64_t first, std::int64_t layers, HfLayer mark,
                                   HfLayer rest) {
  std::vector<HfLayer> marked(static_cast<std::size_t>(layers), rest);
  for (const HfNumber& number : numbers) {
    HfLayer& layer = marked[index_of(number, first, layers)];
    if (layer == mark) fail_at(number.place, "{}: layer {} is named twice", number.name, number.value);
    layer = mark;
  }
  return marked;
}

std::vector<HfLayer> words_pattern(const std::string& field, const YamlNode& value) {
  if (value.kind != YamlNode::Kind::list)
    fail_at(value.place, "{}: {}, where a list with one name a layer is expected", field, describe_json(value));
  std::vector<HfLayer> layers;
  for (const YamlNode& item : value.items) {
    const auto* word = std::find_if(layer_words.begin(), layer_words.end(), [&](const auto& known) {
      return item.kind == YamlNode::Kind::scalar && known.first == item.text;
    });
    if (word == layer_words.end()) {
      std::vector<std::string_view> known;
      for (const auto& entry : layer_words) known.push_back(entry.first);
      fail_at(item.place, "{}[{}]: {} is no kind of layer that can be imported; known: {}", field, layers.size(),
              describe_json(item), fmt::join(known, ", "));
    }
    layers.push_back(word->second);
  }
  return layers;
}

std::vector<HfLayer> characters_pattern(const std::string& field, const YamlNode& value) {
  if (value.kind != YamlNode::Kind::scalar || !value.quoted)
    fail_at(value.place, "{}: {}, where a text with one character a layer is expected", field, describe_json(value));
  std::vector<HfLayer> layers;
  for (const char c : value.text) {
    if (c != 'M' && c != '*' && c != '-' && c != 'E') {
      Place place = value.place;
      place.column += static_cast<std::int64_t>(layers.size()) + 1;
      fail_at(place, "{}: character {} means no layer; M is mamba, * attention, - an MLP, E a MoE", field,
              in_quotes(std::string_view(value.text).substr(layers.size(), 1)));
    }
    layers.push_back(c == 'M' ? HfLayer::recurrent : c == '*' ? HfLayer::attention : HfLayer::none);
  }
  return layers;
}

/// Layers of which every one that `is_attention(i)` says is attention, the others recurrent.
template <class IsAttention>
std::vector<HfLayer> layers_where(std::int64_t layers, IsAttention is_attention) {
  std::vector<HfLayer> pattern;
  for (std::int64_t i = 0; i < layers; ++i)
    pattern.push_back(is_attention(i) ? HfLayer::attention : HfLayer::recurrent);
  return pattern;
}

HfPattern pattern_of(std::vector<HfLayer> layers, const HfNumber& number) {
  return {std::move(layers), number.name, number.place, ""};
}

std::optional<HfPattern> interval_pattern(const HfFields& fields) {
  const auto interval = fields.optional_number({"full_attention_interval"});
  if (!interval) return std::nullopt;
  return pattern_of(layers_where(num_layers(fields), [&](auto i) { return (i + 1) % interval->value == 0; }),
                    *interval);
}

std::optional<HfPattern> period_pattern(const HfFields& fields) {
  const auto period = fields.optional_number({"attn_layer_period"});
  const auto offset = fields.optional_number({"attn_layer_offset"}, 0);
  if (!period && !offset) return std::nullopt;
  if (!period) throw fields.missing({"attn_layer_period"}, "distance of two attention layers");
  if (!offset) throw fields.missing({"attn_layer_offset"}, "number of the first attention layer");
  if (offset->value >= period->value)
    fail_at(offset->place, "{}: {} is no offset within a period of {} (attn_layer_period in line {}); allowed: 0 to {}",
            offset->name, offset->value, period->value, period->place.line, period->value - 1);
  return pattern_of(layers_where(num_layers(fields), [&](auto i) { return i % period->value == offset->value; }),
                    *period);
}

std::optional<HfPattern> group_pattern(const HfFields& fields) {
  const auto group = fields.optional_number({"layer_group_size"});
  if (!group) return std::nullopt;
  const std::int64_t layers = num_layers(fields);
  const std::int64_t grouped = layers / group->value * group->value;
  return pattern_of(layers_where(layers, [&](auto i) { return (i + 1) % group->value == 0 || i >= grouped; }), *group);
}

/// True where a field is there and says false.
bool says_false(const HfFields& fields, const std::string& name) {
  const YamlNode* value = fields.find({name});
  return value && !read_flag(fields.path(name), *value);
}

std::optional<HfPattern> step_pattern(const HfFields& fields) {
  const auto step = fields.optional_number({"mamba_step"});
  if (!step) return std::nullopt;
  if (step->value < 2)
    fail_at(step->place, "{}: {} leaves no mamba layer; allowed: whole numbers from 2", step->name, step->value);
  const std::int64_t layers = num_layers(fields);
  const std::int64_t half = step->value / 2;
  const bool all_attention = says_false(fields, "mamba_enabled");
  return pattern_of(layers_where(layers,
                                 [&](auto i) {
                                   if (layers <= half) return all_attention || i == layers - 1;
                                   return all_attention || i % step->value == half;
                                 }),
                    *step);
}

std::optional<HfPattern> types_pattern(const HfFields& fields) {
  const auto types = fields.optional_numbers("attn_type_list", 0);
  if (!types) return std::nullopt;
  HfPattern pattern{{}, "attn_type_list", fields.find({"attn_type_list"})->place, ""};
  for (const HfNumber& type : *types) {
    if (type.value > 1)
      fail_at(type.place, "{}: {} is no kind of layer; 1 is attention, 0 linear attention", type.name, type.value);
    pattern.layers.push_back(type.value == 1 ? HfLayer::attention : HfLayer::recurrent);
  }
  return pattern;
}

std::optional<HfPattern> indices_pattern(const HfFields& fields, const std::string& name, HfLayer mark) {
  const auto numbers = fields.optional_numbers(name, 0);
  if (!numbers) return std::nullopt;
  return HfPattern{marked_layers(*numbers, 0, num_layers(fields), mark, HfLayer::recurrent), name,
                   fields.find({name})->place, ""};
}

/// full_attn_layers and kda_layers name every layer between them, each once; one of the two is enough.
std::optional<HfPattern> kda_pattern(const HfFields& fields) {
  const auto config = fields.section("linear_attn_config");
  if (!config) return std::nullopt;
  const auto full = config->optional_numbers("full_attn_layers", 1);
  const auto kda = config->optional_numbers("kda_layers", 1);
  if (!full && !kda)
    throw config->missing({"full_attn_layers", "kda_layers"}, "numbers of the attention layers, from 1");
  const std::int64_t layers = num_layers(fields);
  const Place place = config->find({full ? "full_attn_layers" : "kda_layers"})->place;
  HfPattern pattern{{}, config->path(full ? "full_attn_layers" : "kda_layers"), place, ""};
  pattern.layers = full ? marked_layers(*full, 1, layers, HfLayer::attention, HfLayer::recurrent)
                        : marked_layers(*kda, 1, layers, HfLayer::recurrent, HfLayer::attention);
  if (!full || !kda) return pattern;
  const std::vector<HfLayer> other = marked_layers(*kda, 1, layers, HfLayer::recurrent, HfLayer::attention);
  const auto [mine, theirs] = std::mismatch(pattern.layers.begin(), pattern.layers.end(), other.begin());
  if (mine != pattern.layers.end())
    fail_at(config->find({"kda_layers"})->place, "{}: layer {} is in {} of {} and {}; each layer must be in one",
            config->path("kda_layers"), mine - pattern.layers.begin() + 1,
            *mine == HfLayer::attention ? "both" : "neither", "full_attn_layers", "kda_layers");
  return pattern;
}

std::optional<HfPattern> words_form(const HfFields& fields, const std::string& name) {
  const YamlNode* value = fields.find({name});
  if (!value) return std::nullopt;
  return HfPattern{words_pattern(fields.path(name), *value), name, value->place, ""};
}

std::optional<HfPattern> characters_form(const HfFields& fields) {
  const std::string name = "hybrid_override_pattern";
  const YamlNode* value = fields.find({name});
  if (!value) return std::nullopt;
  return HfPattern{characters_pattern(name, *value), name, value->place, value->text};
}

HfPattern both_pattern(const HfFields& fields) {
  const HfNumber layers = fields.number({"num_hidden_layers"}, "layers of the model");
  return pattern_of(std::vector<HfLayer>(static_cast<std::size_t>(num_layers(fields)), HfLayer::both), layers);
}

/// One form: the fields it looks for, and its reader, which finds nothing where they are absent.
struct FormReader {
  HfPatternForm form;
  std::vector<std::string> fields;
  std::function<std::optional<HfPattern>(const HfFields&)> read;
};

const std::vector<FormReader>& form_readers() {
  const auto words = [](const char* name) {
    return [name](const HfFields& fields) { return words_form(fields, name); };
  };
  const auto indices = [](const char* name, HfLayer mark) {
    return [name, mark](const HfFields& fields) { return indices_pattern(fields, name, mark); };
  };
  static const std::vector<FormReader> readers = {
      {HfPatternForm::layer_types, {"layer_types"}, words("layer_types")},
      {HfPatternForm::layers_block_type, {"layers_block_type"}, words("layers_block_type")},
      {HfPatternForm::hybrid_override_pattern, {"hybrid_override_pattern"}, characters_form},
      {HfPatternForm::full_attention_interval, {"full_attention_interval"}, interval_pattern},
      {HfPatternForm::attn_layer_indices, {"attn_layer_indices"}, indices("attn_layer_indices", HfLayer::attention)},
      {HfPatternForm::full_attn_idxs, {"full_attn_idxs"}, indices("full_attn_idxs", HfLayer::attention)},
      {HfPatternForm::hybrid_layer_ids, {"hybrid_layer_ids"}, indices("hybrid_layer_ids", HfLayer::both)},
      {HfPatternForm::attn_layer_period, {"attn_layer_period", "attn_layer_offset"}, period_pattern},
      {HfPatternForm::linear_attn_config, {"linear_attn_config"}, kda_pattern},
      {HfPatternForm::attn_type_list, {"attn_type_list"}, types_pattern},
      {HfPatternForm::layer_group_size, {"layer_group_size"}, group_pattern},
      {HfPatternForm::mamba_step, {"mamba_step"}, step_pattern},
      {HfPatternForm::every_layer_both, {"num_hidden_layers"}, both_pattern},
  };
  return readers;
}

void check_length(const HfFields& fields, const HfPattern& pattern) {
  if (pattern.layers.empty()) throw error_at(pattern.place, pattern.field + ": no layers");
  const std::size_t size = pattern.layers.size();
  if (std::cmp_greater(size, most_layers))
    fail_at(pattern.place, "{}: {} layers are more than {}", pattern.field, size, most_layers);
  const auto declared = fields.optional_number({"num_hidden_layers"});
  if (declared && static_cast<std::size_t>(declared->value) != size)
    fail_at(pattern.place, "{} is of length {}, but num_hidden_layers in line {} is {}; one of them is wrong",
            pattern.field, size, declared->place.line, declared->value);
}

void check_agree(const HfPattern& first, const HfPattern& second) {
  const auto [a, b] =
      std::mismatch(first.layers.begin(), first.layers.end(), second.layers.begin(), second.layers.end());
  if (a == first.layers.end() && b == second.layers.end()) return;
  fail_at(second.place, "{} says something else of layer {} than {} in line {}; one of them is wrong", second.field,
          a - first.layers.begin(), first.field, first.place.line);
}

}  // namespace

std::vector<std::string> hf_pattern_fields(const std::vector<HfPatternForm>& forms) {
  std::vector<std::string> fields;
  for (const FormReader& reader : form_readers())
    if (std::find(forms.begin(), forms.end(), reader.form) != forms.end())
      fields.insert(fields.end(), reader.fields.begin(), reader.fields.end());
  return fields;
}

std::vector<std::string> all_hf_pattern_fields() {
  using enum HfPatternForm;
  return hf_pattern_fields({layer_types, layers_block_type, hybrid_override_pattern, attn_layer_indices, full_attn_idxs,
                            hybrid_layer_ids, attn_type_list});
}

HfPattern read_hf_pattern(const HfFields& fields, const std::vector<HfPatternForm>& forms) {
  std::optional<HfPattern> first;
  std::vector<std::string> names;
  for (const FormReader& reader : form_readers()) {
    if (std::find(forms.begin(), forms.end(), reader.form) == forms.end()) continue;
    names.insert(names.end(), reader.fields.begin(), reader.fields.end());
    const std::optional<HfPattern> pattern = reader.read(fields);
    if (!pattern) continue;
    check_length(fields, *pattern);
    if (first)
      check_agree(*first, *pattern);
    else
      first = pattern;
  }
  if (!first) throw fields.missing(names, "the kind of each layer");
  return *first;
}

}  // namespace hybridkv
