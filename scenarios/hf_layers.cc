#include "scenarios/hf_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "scenarios/hf_attention.h"
#include "scenarios/hf_defaults.h"
#include "scenarios/hf_encoder.h"
#include "scenarios/hf_kind_parts.h"
#include "scenarios/hf_layer_pattern.h"
#include "scenarios/hf_recurrent.h"
#include "scenarios/layer_pattern.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

namespace {

/// Kinds of a model file by their letters. A kind that is there already keeps its letter.
class Kinds {
 public:
  explicit Kinds(const Place& place) : kinds_(tree_mapping(place)) {}

  /// The letter of this kind: `preferred` where it is free, else the next letter that is.
  std::string letter_of(const YamlNode& kind, char preferred) {
    const std::string text = text_of(kind);
    const auto known = letters_.find(text);
    if (known != letters_.end()) return known->second;
    const std::string letter(1, free_letter(preferred));
    letters_[text] = letter;
    tree_add(kinds_, letter, kind);
    return letter;
  }

  bool empty() const { return kinds_.entries.empty(); }
  /// The kind of this letter; null where it names none.
  const YamlNode* find(const std::string& letter) const { return kinds_.find(letter); }
  /// All of them: those with K and V first, then states, then layers that cache nothing.
  YamlNode take() {
    std::stable_sort(kinds_.entries.begin(), kinds_.entries.end(),
                     [](const YamlEntry& a, const YamlEntry& b) { return rank(a.value) < rank(b.value); });
    return std::move(kinds_);
  }

 private:
  static int rank(const YamlNode& kind) {
    if (kind.find("type")->text == "none") return 2;
    return kind.find("query_heads") ? 0 : 1;
  }

  static std::string text_of(const YamlNode& kind) {
    std::string text;
    for (const YamlEntry& entry : kind.entries) text += entry.key + "=" + entry.value.text + ";";
    return text;
  }

  char free_letter(char preferred) const {
    const std::string order = preferred + std::string("abdefghjklnopqrtuvxyzABCDFGHIJKLNOPQRSTUVWXYZcimsw");
    for (const char letter : order)
      if (!kinds_.find(std::string(1, letter))) return letter;
    throw error_at(kinds_.place, "more than fifty kinds of layer; a model file names each by one letter");
  }

  YamlNode kinds_;
  std::map<std::string, std::string> letters_;
};

/// Refuses a kind of cache that no plan knows.
[[noreturn]] void refuse_kind(const HfPattern& pattern, std::size_t index, const char* kind) {
  throw error_at(pattern.place,
                 fmt::format("{}: layer {} keeps {}, which is not planned yet", pattern.field, index, kind));
}

bool has_attention(HfLayer layer) { return layer != HfLayer::none && layer != HfLayer::recurrent; }

bool has_recurrent(HfLayer layer) {
  return layer == HfLayer::recurrent || layer == HfLayer::both || layer == HfLayer::both_sliding;
}

char attention_letter(HfLayer layer) {
  switch (layer) {
    case HfLayer::sliding:
    case HfLayer::both_sliding: return 'w';
    case HfLayer::chunked: return 'c';
    case HfLayer::indexed: return 'i';
    default: return 'a';
  }
}

/// Names of a kind of layer in Transformers, by which a class says what such layers have of their own.
std::string class_word(HfLayer layer) {
  switch (layer) {
    case HfLayer::sliding: return "sliding_attention";
    case HfLayer::attention: return "full_attention";
    case HfLayer::indexed: return "indexed_attention";
    case HfLayer::chunked: return "chunked_attention";
    default: return "";
  }
}

/// The layers of one config while they become kinds.
class LayerReader {
 public:
  LayerReader(const HfFields& fields, HfPattern pattern)
      : fields_(fields), pattern_(std::move(pattern)), kinds_(pattern_.place) {
    is_pasted_ = !pattern_.text.empty();
    if (full_is_indexed())
      std::replace(pattern_.layers.begin(), pattern_.layers.end(), HfLayer::attention, HfLayer::indexed);
    for (const HfNumber& number :
         fields.optional_numbers("cross_attention_layers", 0).value_or(std::vector<HfNumber>()))
      if (static_cast<std::size_t>(number.value) < pattern_.layers.size())
        pattern_.layers[static_cast<std::size_t>(number.value)] = HfLayer::none;
    sources_ = fields.optional_numbers("kv_source_layers", 0);
    borrows_index_ = layers_without_index();
    attends_to_encoder_ = hf_attends_to_encoder(fields);
  }

  void add_to(YamlNode& model) {
    for (std::size_t i = 0; i < pattern_.layers.size(); ++i) names_.push_back(name_of_layer(i));
    add_pasted_kinds();
    if (kinds_.empty())
      throw error_at(pattern_.place, pattern_.field + ": no layer has a cache; there is nothing to plan");
    std::string auxiliary = add_embedding_states();
    tree_add(model, "kinds", kinds_.take());
    YamlNode layers = tree_scalar(is_pasted_ ? pattern_.text : layer_pattern_text(names_), pattern_.place);
    layers.quoted = true;
    tree_add(model, "layers", std::move(layers));
    if (attends_to_encoder_)
      if (const auto tokens = hf_encoder_tokens(fields_)) add_hf_number(model, "encoder_tokens", *tokens);
    if (!auxiliary.empty()) tree_add(model, "auxiliary", tree_scalar(auxiliary, pattern_.place));
  }

 private:
  /// Published files of some classes call layers with an indexer full attention, as no layer of theirs is without one
  /// (Qwen4, dots3).
  bool full_is_indexed() const {
    const YamlNode* own = fields_.class_default("layer_types");
    return own && own->text.find("indexed_attention") != std::string::npos &&
           own->text.find("full_attention") == std::string::npos;
  }

  /// The fields of one layer: what the file gives it, else what the class gives such layers.
  HfFields fields_of(std::size_t index) const {
    const YamlNode* own =
        fields_.own_of_layer(static_cast<std::int64_t>(index), {class_word(pattern_.layers[index])});
    return own ? fields_.with(*own) : fields_;
  }

  /// The layer whose K and V this one reads; itself where it keeps its own.
  std::size_t source_of(std::size_t index) const {
    if (sources_ && index < sources_->size()) return static_cast<std::size_t>((*sources_)[index].value);
    const auto shared = fields_.optional_number({"num_kv_shared_layers"}, 0);
    const std::size_t count = shared ? static_cast<std::size_t>(shared->value) : 0;
    const std::size_t first = count < pattern_.layers.size() ? pattern_.layers.size() - count : 0;
    if (count == 0 || index < first) return index;
    for (std::size_t source = first; source-- > 0;)
      if (pattern_.layers[source] == pattern_.layers[index]) return source;
    fail_at(shared->place, "{}: layer {} would read the K and V of an earlier layer of its kind, but there is none",
            shared->name, index);
  }

  /// Whether each layer chooses by the index of an earlier one.
  std::vector<bool> layers_without_index() const {
    std::vector<bool> without(pattern_.layers.size());
    const YamlNode* types = fields_.find({"indexer_types"});
    if (!types) return without;
    const bool is_list = types->kind == YamlNode::Kind::list;
    const std::vector<YamlNode> words = is_list ? types->items : hf_default_layers(*types, std::ssize(without));
    for (std::size_t i = 0; i < std::min(words.size(), without.size()); ++i) without[i] = words[i].text == "shared";
    return without;
  }

  std::string name_of_layer(std::size_t index) {
    const HfLayer layer = pattern_.layers[index];
    std::string name;
    if (has_attention(layer)) name = attention_name(index);
    if (has_recurrent(layer)) {
      const HfFields fields = fields_of(index);
      const std::optional<YamlNode> convs =
          name.empty() ? std::nullopt : hf_convolutions_of(fields, *kinds_.find(name));
      const std::string recurrent =
          kinds_.letter_of(convs ? *convs : hf_recurrent_kind(fields), is_pasted_ ? 'M' : 'm');
      name += (name.empty() ? "" : "+") + recurrent;
    }
    if (name.empty()) return "-";
    return attends_to_encoder_ ? name + "+" + kinds_.letter_of(hf_cross_kind(fields_), 'x') : name;
  }

  std::string attention_name(std::size_t index) {
    const HfLayer layer = pattern_.layers[index];
    if (layer == HfLayer::compressed || layer == HfLayer::heavily_compressed)
      refuse_kind(pattern_, index, "compressed attention with rings (CSA, HCA)");
    if (layer == HfLayer::output_window) refuse_kind(pattern_, index, "all of the prompt and a window of the output");
    const HfFields fields = fields_of(index);
    const std::size_t source = source_of(index);
    if (source != index) return kinds_.letter_of(sharing_kind(fields, index, source), 's');
    const HfLayer read = layer == HfLayer::indexed && borrows_index_[index] ? HfLayer::attention : layer;
    return kinds_.letter_of(hf_attention_kind(fields, read, index), is_pasted_ ? '*' : attention_letter(read));
  }

  /// A layer that reads the K and V of `source`, which must be the last of its kind before it.
  YamlNode sharing_kind(const HfFields& fields, std::size_t index, std::size_t source) const {
    const HfLayer layer = pattern_.layers[index];
    if (source > index || names_[source].size() != 1)
      throw error_at(pattern_.place, fmt::format("layer {} cannot read the K and V of layer {}", index, source));
    for (std::size_t between = source + 1; between < index; ++between)
      if (names_[between] == names_[source])
        throw error_at(
            pattern_.place,
            fmt::format("layer {} reads the K and V of layer {}, with layer {} of the same kind between them; "
                        "a model file says the last of a kind",
                        index, source, between));
    YamlNode kind = hf_kind("shared_kv", {{"query_heads", hf_query_heads(fields, layer)}});
    tree_add(kind, "of", tree_scalar(names_[source], kind.place));
    if (layer == HfLayer::indexed && !borrows_index_[index]) add_hf_indexer(kind, fields);
    return kind;
  }

  /// A pattern that was pasted names its MoE layers too.
  void add_pasted_kinds() {
    if (pattern_.text.find('E') == std::string::npos) return;
    kinds_.letter_of(hf_typed_kind("none", pattern_.place), 'E');
  }

  /// What an embedding of n-grams keeps beside some layers (Qwen4): the inputs of a convolution with taps ngram_size
  /// tokens apart, of all streams, on every rank. Its letter once for each such layer.
  std::string add_embedding_states() {
    const auto layers = fields_.optional_numbers("ple_layer_ids", 0);
    if (!layers || layers->empty()) return "";
    const HfNumber streams = fields_.number({"hc_count"}, "streams of the hidden state");
    const HfNumber hidden = hf_hidden_size(fields_, "channels of a stream");
    const HfNumber taps = fields_.number({"ple_conv_kernel_size"}, "taps of the convolution of an n-gram embedding");
    const HfNumber apart = fields_.number({"ngram_size"}, "tokens between two taps");
    YamlNode kind = hf_kind("short_conv", {{"channels", hf_number_at(streams.value * hidden.value, hidden)},
                                           {"conv_kernel", hf_number_at((taps.value - 1) * apart.value + 1, taps)}});
    tree_add(kind, "replicated", tree_scalar("true", kind.place));
    const std::string letter = kinds_.letter_of(kind, 'e');
    std::string names;
    for (std::size_t i = 0; i < layers->size(); ++i) names += letter;
    return names;
  }

  const HfFields& fields_;
  HfPattern pattern_;
  Kinds kinds_;
  bool is_pasted_ = false, attends_to_encoder_ = false;
  std::optional<std::vector<HfNumber>> sources_;
  std::vector<bool> borrows_index_;  ///< by layer
  std::vector<std::string> names_;
};

}  // namespace

void add_hf_layers(YamlNode& model, const HfFields& fields) {
  LayerReader(fields, read_hf_pattern(fields)).add_to(model);
}

}  // namespace hybridkv
