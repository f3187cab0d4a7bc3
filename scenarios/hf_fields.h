#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// What a value of a JSON text is, for a message: "the text 'abc'", "12", "true", "a list", "a mapping", "nothing".
std::string describe_json(const YamlNode& node);

/// A whole number that a published config declares, with where it does.
struct HfNumber {
  std::int64_t value = 0;
  std::string name;  ///< of the field, "num_attention_heads"
  Place place;
};

/// The fields of a published config.json (Hugging Face). Configs of models that also see or hear keep those of the
/// language model in a section (`text_config`, `llm_config`, …); each field is looked up there first, then at the top,
/// then among the defaults of the class that the model_type names (scenarios/hf_defaults.h). A field that is null
/// counts as absent, and has no default then. Where one meaning is published under several names, the names are given
/// together; two of them in one config must say the same.
class HfFields {
 public:
  /// Pre: `root` is a mapping that outlives this.
  explicit HfFields(const YamlNode& root);

  /// The same fields, but for those that `overrides` says otherwise: what one layer has of its own.
  /// Pre: a mapping that outlives the result.
  HfFields with(const YamlNode& overrides) const;
  /// What this config gives one layer of its own (per_layer_config, by number), else what its class gives layers of the
  /// first of these kinds that it speaks of ("full_attention"); null where nothing.
  const YamlNode* own_of_layer(std::int64_t layer, std::initializer_list<std::string_view> kinds) const;
  /// The same fields as another class reads them: its defaults and its names.
  HfFields as_class(const std::string& model_type) const;

  /// The value of the first of these names that is there, else null. Throws InputError where two disagree.
  const YamlNode* find(const std::vector<std::string>& names) const;
  /// The same of the config itself, without the defaults of its class.
  const YamlNode* find_written(const std::vector<std::string>& names) const;

  /// What the class says under this name, whatever the config says; null where it is silent.
  const YamlNode* class_default(const std::string& name) const;

  /// The name under which find() finds a value, as messages call it; the first name where there is none.
  std::string found_path(const std::vector<std::string>& names) const;

  /// A count of layers, heads, channels or tokens, 1 to 1,000,000. Throws InputError for any other value, and where
  /// the field is absent, with `doc` saying what it would be.
  HfNumber number(const std::vector<std::string>& names, const std::string& doc) const;
  /// As number(); nothing where the field is absent. `minimum` 0 for indices and offsets.
  std::optional<HfNumber> optional_number(const std::vector<std::string>& names, std::int64_t minimum = 1) const;
  /// A list of whole numbers from `minimum` on; nothing where the field is absent.
  std::optional<std::vector<HfNumber>> optional_numbers(const std::string& name, std::int64_t minimum) const;
  /// A field that says yes or no; `otherwise` where it is absent. Throws InputError for any other value.
  bool flag(const std::string& name, bool otherwise) const;

  /// The fields of a mapping inside; nothing where it is absent.
  std::optional<HfFields> section(const std::string& name) const;

  /// The error for fields that are absent: "… is missing: DOC; looked for A, B in text_config and at the top".
  InputError missing(const std::vector<std::string>& names, const std::string& doc) const;

  /// "linear_attn_config.kda_layers": the field as messages call it.
  std::string path(const std::string& name) const;
  const YamlNode& root() const { return *root_; }
  /// The section of the language model; null where its fields stand at the top.
  const YamlNode* text() const { return text_; }
  /// The model_type whose class reads the language model; empty where the config names none.
  const std::string& model_type() const { return model_type_; }
  /// Whether the table of defaults has that class.
  bool has_class() const { return !defaults_.empty(); }
  /// The trees that values are found in: the config, what an outer class sets, the defaults of the class.
  std::vector<const YamlNode*> trees() const;
  /// Are width and heads those of the class, so that what it derives of them holds? Pre: has_class().
  bool has_default_width() const;
  /// True for a value that no file says: the default of a class.
  bool is_default(const YamlNode& node) const;

 private:
  HfFields(const YamlNode& root, std::string prefix);
  void use_class(const std::string& model_type);
  /// The mappings in which these names are looked for, the most special first.
  std::vector<const YamlNode*> scopes(const std::vector<std::string>& names) const;
  const YamlNode* find_in(const YamlNode& scope, const std::vector<std::string>& names, bool& is_null) const;
  const YamlNode* find_default(const std::vector<std::string>& names) const;
  /// These names and those under which the class publishes them.
  std::vector<std::string> published_names(const std::vector<std::string>& names) const;

  const YamlNode* root_;
  const YamlNode* text_ = nullptr;
  std::string text_name_;           ///< of that section: "text_config"
  const YamlNode* layer_ = nullptr; ///< what one layer has of its own
  std::string prefix_;              ///< of a section: "linear_attn_config."
  std::string model_type_;
  std::vector<std::shared_ptr<const YamlNode>> defaults_;  ///< the class's; before it what an outer class sets of it
};

}  // namespace hybridkv
