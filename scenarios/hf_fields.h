#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
/// language model in `text_config`; each field is looked up there first, then at the top. A field that is null counts
/// as absent. Where one meaning is published under several names, the names are given together; two of them in one
/// config must say the same.
class HfFields {
 public:
  /// Pre: `root` is a mapping that outlives this.
  explicit HfFields(const YamlNode& root);

  /// The value of the first of these names that is there, else null. Throws InputError where two disagree.
  const YamlNode* find(const std::vector<std::string>& names) const;

  /// The name under which find() finds a value, as messages call it; the first name where there is none.
  std::string found_path(const std::vector<std::string>& names) const;

  /// A count of layers, heads, channels or tokens, 1 to 1,000,000. Throws InputError for any other value, and where
  /// the field is absent, with `doc` saying what it would be.
  HfNumber number(const std::vector<std::string>& names, const std::string& doc) const;
  /// As number(); nothing where the field is absent. `minimum` 0 for indices and offsets.
  std::optional<HfNumber> optional_number(const std::vector<std::string>& names, std::int64_t minimum = 1) const;
  /// A list of whole numbers from `minimum` on; nothing where the field is absent.
  std::optional<std::vector<HfNumber>> optional_numbers(const std::string& name, std::int64_t minimum) const;

  /// The fields of a mapping inside; nothing where it is absent.
  std::optional<HfFields> section(const std::string& name) const;

  /// The error for fields that are absent: "… is missing: DOC; looked for A, B in text_config and at the top".
  InputError missing(const std::vector<std::string>& names, const std::string& doc) const;

  /// "linear_attn_config.kda_layers": the field as messages call it.
  std::string path(const std::string& name) const;
  const YamlNode& root() const { return *root_; }

 private:
  HfFields(const YamlNode& root, std::string prefix);
  std::vector<const YamlNode*> scopes() const;

  const YamlNode* root_;
  const YamlNode* text_ = nullptr;  ///< text_config, where there is one
  std::string prefix_;              ///< of a section: "linear_attn_config."
};

}  // namespace hybridkv
