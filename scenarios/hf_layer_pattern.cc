#include "scenarios/hf_layer_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "scenarios/hf_class_rules.h"
#include "scenarios/hf_defaults.h"
#include "scenarios/key_table.h"
#include "scenarios/layer_pattern.h"

namespace hybridkv {

namespace {


constexpr std::array<std::pair<std::string_view, HfLayer>, 23> layer_words{{
    {"full_attention", HfLayer::attention},
    {"attention", HfLayer::attention},
    {"sliding_attention", HfLayer::sliding},
    {"chunked_attention", HfLayer::chunked},
    {"indexed_attention", HfLayer::indexed},
    {"deepseek_sparse_attention", HfLayer::indexed},
    {"qwen_sparse_attention", HfLayer::indexed},
    {"minimax_m3_sparse", HfLayer::indexed},
    {"compressed_sparse_attention", HfLayer::compressed},
    {"heavily_compressed_attention", HfLayer::heavily_compressed},
    {"reference_sliding_attention", HfLayer::output_window},
    {"linear_attention", HfLayer::recurrent},
    {"mamba", HfLayer::recurrent},
    {"mamba2", HfLayer::recurrent},
    {"recurrent", HfLayer::recurrent},
    {"conv", HfLayer::recurrent},
    {"short_conv", HfLayer::recurrent},
    {"hybrid", HfLayer::both},
    {"hybrid_sliding", HfLayer::both_sliding},
    {"mlp", HfLayer::none},
    {"moe", HfLayer::none},
    {"ffn", HfLayer::none},
    {"dummy", HfLayer::none},
}};

/// The number of layers of a form that does not tell it itself.
std::int64_t num_layers(const HfFields& fields) {
  const HfNumber number = hf_num_layers(fields);
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

std::vector<HfLayer> words_pattern(const std::string& field, const std::vector<YamlNode>& items) {
  std::vector<HfLayer> layers;
  for (const YamlNode& item : items) {
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

std::optional<HfPattern> step_pattern(const HfFields& fields) {
  const auto step = fields.optional_number({"mamba_step"});
  if (!step) return std::nullopt;
  if (step->value < 2)
    fail_at(step->place, "{}: {} leaves no mamba layer; allowed: whole numbers from 2", step->name, step->value);
  const std::int64_t layers = num_layers(fields);
  const std::int64_t half = step->value / 2;
  const bool all_attention = !fields.flag("mamba_enabled", true);
  return pattern_of(layers_where(layers,
                                 [&](auto i) {
                                   if (layers <= half) return all_attention || i == layers - 1;
                                   return all_attention || i % step->value == half;
                                 }),
                    *step);
}

/// A list with one number a layer, 0 or 1.
std::optional<HfPattern> numbers_pattern(const HfFields& fields, const std::string& name, HfLayer zero, HfLayer one,
                                         const char* meaning) {
  const auto types = fields.optional_numbers(name, 0);
  if (!types) return std::nullopt;
  HfPattern pattern{{}, fields.path(name), fields.find({name})->place, ""};
  for (const HfNumber& type : *types) {
    if (type.value > 1) fail_at(type.place, "{}: {} is no kind of layer; {}", type.name, type.value, meaning);
    pattern.layers.push_back(type.value == 1 ? one : zero);
  }
  return pattern;
}

std::optional<HfPattern> types_pattern(const HfFields& fields) {
  return numbers_pattern(fields, "attn_type_list", HfLayer::recurrent, HfLayer::attention,
                         "1 is attention, 0 linear attention");
}

std::optional<HfPattern> windows_pattern(const HfFields& fields) {
  return numbers_pattern(fields, "hybrid_layer_pattern", HfLayer::attention, HfLayer::sliding,
                         "1 is a window, 0 full attention");
}

std::optional<HfPattern> sparse_pattern(const HfFields& fields) {
  const auto config = fields.section("sparse_attention_config");
  if (!config) return std::nullopt;
  return numbers_pattern(*config, "sparse_attention_freq", HfLayer::attention, HfLayer::indexed,
                         "1 has an indexer, 0 has none");
}

/// Of models whose attention without RoPE sees all tokens and the other chunks alone (Llama 4).
std::optional<HfPattern> rope_pattern(const HfFields& fields) {
  if (!fields.find({"attention_chunk_size"})) return std::nullopt;
  return numbers_pattern(fields, "no_rope_layers", HfLayer::attention, HfLayer::chunked,
                         "1 is attention inside chunks, 0 full attention");
}

std::optional<HfPattern> round_pattern(const HfFields& fields) {
  const YamlNode* value = fields.find_written({"block_types"});
  if (!value) return std::nullopt;
  if (value->kind != YamlNode::Kind::list || value->items.empty())
    fail_at(value->place, "block_types: {}, where a list of names that go round is expected", describe_json(*value));
  const std::vector<HfLayer> round = words_pattern("block_types", value->items);
  HfPattern pattern{{}, "block_types", value->place, ""};
  const bool has_window = fields.find({"attention_window_size"}) != nullptr;
  for (std::int64_t i = 0; i < num_layers(fields); ++i) {
    const HfLayer layer = round[static_cast<std::size_t>(i) % round.size()];
    pattern.layers.push_back(layer == HfLayer::attention && has_window ? HfLayer::sliding : layer);
  }
  return pattern;
}

/// Every k-th layer, or those of a G in "LLLG", have full attention, the others a window.
std::optional<HfPattern> local_pattern(const HfFields& fields) {
  const YamlNode* value = fields.find_written({"sliding_window_pattern", "_sliding_window_pattern"});
  if (!value) return std::nullopt;
  const std::string name = fields.found_path({"sliding_window_pattern", "_sliding_window_pattern"});
  const bool is_text = value->kind == YamlNode::Kind::scalar && value->quoted;
  std::string round = is_text ? value->text : std::string();
  if (is_text && (round.empty() || round.find_first_not_of("LG") != std::string::npos))
    fail_at(value->place, "{}: {} is no round of layers; L is a window, G full attention", name, describe_json(*value));
  if (!is_text) {
    const HfNumber interval = *fields.optional_number({name});
    round = std::string(static_cast<std::size_t>(interval.value - 1), 'L') + "G";
  }
  HfPattern pattern{{}, name, value->place, ""};
  for (std::int64_t i = 0; i < num_layers(fields); ++i)
    pattern.layers.push_back(round[static_cast<std::size_t>(i) % round.size()] == 'G' ? HfLayer::attention
                                                                                      : HfLayer::sliding);
  return pattern;
}

std::optional<HfPattern> window_layers_pattern(const HfFields& fields) {
  const YamlNode* value = fields.find_written({"use_sliding_window"});
  if (!value || !read_flag("use_sliding_window", *value)) return std::nullopt;
  const auto first = fields.optional_number({"max_window_layers"}, 0);
  HfPattern pattern{{}, "use_sliding_window", value->place, ""};
  for (std::int64_t i = 0; i < num_layers(fields); ++i)
    pattern.layers.push_back(first && i < first->value ? HfLayer::attention : HfLayer::sliding);
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
  const YamlNode* value = fields.find_written({name});
  if (!value) return std::nullopt;
  if (value->kind != YamlNode::Kind::list)
    fail_at(value->place, "{}: {}, where a list with one name a layer is expected", name, describe_json(*value));
  return HfPattern{words_pattern(fields.path(name), value->items), name, value->place, ""};
}

std::optional<HfPattern> characters_form(const HfFields& fields) {
  const std::string name = "hybrid_override_pattern";
  const YamlNode* value = fields.find({name});
  if (!value) return std::nullopt;
  return HfPattern{characters_pattern(name, *value), name, value->place, value->text};
}

/// One form: the fields it looks for, and its reader, which finds nothing where they are absent.
struct FormReader {
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
      {{"layer_types"}, words("layer_types")},
      {{"layers_block_type"}, words("layers_block_type")},
      {{"hybrid_override_pattern"}, characters_form},
      {{"hybrid_layer_pattern"}, windows_pattern},
      {{"attn_type_list"}, types_pattern},
      {{"block_types"}, round_pattern},
      {{"attn_layer_indices"}, indices("attn_layer_indices", HfLayer::attention)},
      {{"full_attn_idxs"}, indices("full_attn_idxs", HfLayer::attention)},
      {{"hybrid_layer_ids"}, indices("hybrid_layer_ids", HfLayer::both)},
      {{"linear_attn_config"}, kda_pattern},
      {{"full_attention_interval"}, interval_pattern},
      {{"sliding_window_pattern", "_sliding_window_pattern"}, local_pattern},
      {{"attn_layer_period", "attn_layer_offset"}, period_pattern},
      {{"layer_group_size"}, group_pattern},
      {{"mamba_step"}, step_pattern},
      {{"sparse_attention_config"}, sparse_pattern},
      {{"no_rope_layers"}, rope_pattern},
  };
  return readers;
}

bool is_written(const HfFields& fields, const FormReader& reader) {
  return std::any_of(reader.fields.begin(), reader.fields.end(),
                     [&](const std::string& name) { return fields.find_written({name}) != nullptr; });
}

void check_length(const HfFields& fields, const HfPattern& pattern) {
  if (pattern.layers.empty()) throw error_at(pattern.place, pattern.field + ": no layers");
  const std::size_t size = pattern.layers.size();
  if (std::cmp_greater(size, most_layers))
    fail_at(pattern.place, "{}: {} layers are more than {}", pattern.field, size, most_layers);
  const YamlNode* written = fields.find_written({"num_hidden_layers"});
  const auto declared = written ? fields.optional_number({"num_hidden_layers"}) : std::nullopt;
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

/// What the class of the model_type says of the layers; nothing where it is silent.
std::optional<HfPattern> class_pattern(const HfFields& fields) {
  const YamlNode* text = fields.find({"layer_types"});
  if (!text) text = fields.find({"layers_block_type"});
  if (!text || text->kind != YamlNode::Kind::scalar) return std::nullopt;
  // A class that counts its layers by their list has no other number of them.
  const bool is_counted = fields.find({"num_hidden_layers"}) != nullptr;
  const std::vector<YamlNode> list = hf_default_layers(*text, is_counted ? num_layers(fields) : 0);
  if (list.empty()) throw fields.missing({"layer_types"}, "the kind of each layer");
  return HfPattern{words_pattern("layer_types", list), "layer_types", text->place, ""};
}

/// The layers where nothing tells them apart.
HfPattern plain_pattern(const HfFields& fields) {
  const bool no_window = !fields.flag("use_sliding_window", true);
  const HfLayer layer = hf_class_rules(fields.model_type()).every_layer_recurrent ? HfLayer::recurrent
                        : !no_window && fields.find({"sliding_window"})           ? HfLayer::sliding
                        : fields.find({"attention_chunk_size"})                   ? HfLayer::chunked
                                                                                  : HfLayer::attention;
  const std::int64_t layers = num_layers(fields);
  return pattern_of(std::vector<HfLayer>(static_cast<std::size_t>(layers), layer), hf_num_layers(fields));
}

/// All layers as often as the model runs them.
HfPattern looped(const HfFields& fields, HfPattern pattern) {
  const auto loops = fields.optional_number({"num_loops"});
  if (!loops || loops->value == 1) return pattern;
  if (loops->value > most_layers / std::ssize(pattern.layers))
    fail_at(loops->place, "{}: {} times {} layers are more than {}", loops->name, loops->value, pattern.layers.size(),
            most_layers);
  const std::vector<HfLayer> once = pattern.layers;
  for (std::int64_t i = 1; i < loops->value; ++i)
    pattern.layers.insert(pattern.layers.end(), once.begin(), once.end());
  pattern.text.clear();
  return pattern;
}

}  // namespace

HfNumber hf_num_layers(const HfFields& fields) {
  if (fields.flag("is_encoder_decoder", false))
    for (const char* name : {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"})
      if (const auto number = fields.optional_number({name})) return *number;
  if (const auto number = fields.optional_number({"num_hidden_layers"})) return *number;
  for (const char* name : {"n_layer", "n_layers", "num_layers", "decoder_layers"})
    if (auto number = fields.optional_number({name})) {
      number->value *= hf_class_rules(fields.model_type()).attentions_a_layer;
      return *number;
    }
  throw fields.missing({"num_hidden_layers"}, "layers of the model");
}

bool declares_hf_layers(const HfFields& fields) {
  return std::any_of(form_readers().begin(), form_readers().end(),
                     [&](const FormReader& reader) { return is_written(fields, reader); });
}

HfPattern read_hf_pattern(const HfFields& fields) {
  std::optional<HfPattern> first;
  for (const FormReader& reader : form_readers()) {
    if (!is_written(fields, reader)) continue;
    const std::optional<HfPattern> pattern = reader.read(fields);
    if (!pattern) continue;
    check_length(fields, *pattern);
    if (first)
      check_agree(*first, *pattern);
    else
      first = pattern;
  }
  if (!first) first = window_layers_pattern(fields);
  if (!first) first = class_pattern(fields);
  return looped(fields, first ? *first : plain_pattern(fields));
}

}  // namespace hybridkv
