#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios/number.h"
#include "scenarios/source_map.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

struct SectionInfo;

/// How the value of a key is written.
enum class ValueType {
  integer,   ///< one whole number
  size,      ///< an amount of memory
  number,    ///< one number >= 0, perhaps with a fraction
  text,      ///< any text
  flag,      ///< true or false
  choice,    ///< one of some words
  choices,   ///< one or more of some words; a list is one value
  sizes,     ///< one or more amounts of memory; a list is one value
  integers,  ///< one or more whole numbers; a list is one value here, a list of lists a sweep
  numbers,   ///< one or more numbers >= 0, perhaps with fractions; a list is one value
  texts,     ///< one or more texts; a list is one value here, no sweep
  section,   ///< a mapping with keys of its own
  sections,  ///< a list of mappings, each with the same keys
  model,     ///< a name, {file: …} or a model written out
  kinds,     ///< the kinds of layer of a model by name
};

/// One key of a scenario or model file: all that reading it, suggesting it and the JSON Schema need.
struct KeyInfo {
  std::string name;
  std::string doc;  ///< one sentence: meaning, unit, default
  ValueType type = ValueType::text;
  bool required = false;
  std::int64_t minimum = 0;                                         ///< integer and integers
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();  ///< integer and integers
  NumberForm form = NumberForm::plain;                              ///< integer and integers
  std::vector<std::string> choices;                                 ///< choice and choices: the words
  std::vector<std::pair<std::string, std::string>> synonyms;        ///< of them: further word, the word it stands for
  std::vector<std::string> spec_names;    ///< fields of the planner's spec that it sets under another name
  const SectionInfo* section = nullptr;   ///< section and sections: the keys of one mapping
  bool sweepable = false;                 ///< a list or range here means a sweep over the values
  bool one_question = false;              ///< sweepable: all commands but `sweep` take the values together
};

/// The keys of one mapping.
struct SectionInfo {
  std::string name;  ///< as messages call it: "engine"
  std::string doc;
  std::vector<KeyInfo> keys;
  const KeyInfo* find(std::string_view key) const;
};

/// What one reading of a scenario collects besides the values.
struct ReadContext {
  SourceMap places;
  bool keep_places = true;               ///< false: nobody asks for them, `places` stays empty
  std::vector<std::int64_t> pack_sizes;  ///< values of engine.attention_pack_size
  std::optional<WrittenNumber> largest;  ///< number, where places are kept; sizes count by the MiB
  std::int64_t largest_weight = 0;       ///< what it counts
  std::vector<std::string> notes;        ///< what was assumed or left unused, a sentence each, for the user
};

/// Readers of single values. All throw InputError at the value, naming `path`, the value and what is allowed.
std::int64_t read_integer(const std::string& path, const YamlNode& node, const KeyInfo& key);
std::vector<std::int64_t> read_integers(const std::string& path, const YamlNode& node, const KeyInfo& key);
std::int64_t read_size(const std::string& path, const YamlNode& node);
std::vector<std::int64_t> read_sizes(const std::string& path, const YamlNode& node);
double read_number(const std::string& path, const YamlNode& node);
std::vector<double> read_numbers(const std::string& path, const YamlNode& node);
std::string read_text(const std::string& path, const YamlNode& node);
std::vector<std::string> read_texts(const std::string& path, const YamlNode& node);
bool read_flag(const std::string& path, const YamlNode& node);
/// The chosen word itself where a synonym was written.
std::string read_choice(const std::string& path, const YamlNode& node, const KeyInfo& key);
std::vector<std::string> read_choices(const std::string& path, const YamlNode& node, const KeyInfo& key);
/// Checks that the value is a list of at least one mapping; the mappings themselves are left to their section.
void check_list(const std::string& path, const YamlNode& node);

/// The path of a key inside a section; the root section has the path "".
std::string path_of(const std::string& section_path, std::string_view key);

/// Checks a mapping against a section: it is one, holds no unknown key and all required ones; records the places.
void check_section(ReadContext& context, const std::string& path, const YamlNode& node, const SectionInfo& section);

/// The keys of one mapping together with how each sets the spec: the one table that reading, messages, the JSON
/// Schema and the tests go by.
template <class Spec>
class Section {
 public:
  using Reader = std::function<void(ReadContext&, const std::string& path, const YamlNode&, Spec&)>;
  using Check = std::function<void(const std::string& path, const YamlNode&, Spec&)>;

  Section(std::string name, std::string doc) : info_{std::move(name), std::move(doc), {}} {}

  const SectionInfo& info() const { return info_; }

  /// A key with a reader of its own.
  Section& add(KeyInfo key, Reader reader) {
    info_.keys.push_back(std::move(key));
    readers_.push_back(std::move(reader));
    return *this;
  }

  /// Runs after all keys have been read: what no key can check alone, and defaults that depend on other keys.
  Section& check(Check check) {
    check_ = std::move(check);
    return *this;
  }

  /// A whole number, handed to `set(spec, value)`.
  template <class Set>
  Section& integer_by(KeyInfo key, Set set) {
    key.type = ValueType::integer;
    key.sweepable = true;
    const KeyInfo copy = key;
    return add(std::move(key), [copy, set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_integer(path, node, copy));
    });
  }

  /// A whole number into a field of type std::int64_t, std::uint64_t or std::optional of one.
  template <class Field>
  Section& integer(KeyInfo key, Field Spec::*field) {
    return integer_by(std::move(key), [field](Spec& spec, std::int64_t value) {
      if constexpr (std::is_same_v<Field, std::uint64_t>)
        spec.*field = static_cast<std::uint64_t>(value);
      else
        spec.*field = value;
    });
  }

  Section& integers(KeyInfo key, std::vector<std::int64_t> Spec::*field) {
    return integers_by(std::move(key),
                       [field](Spec& spec, std::vector<std::int64_t> values) { spec.*field = std::move(values); });
  }

  /// Whole numbers, handed to `set(spec, values)`.
  template <class Set>
  Section& integers_by(KeyInfo key, Set set) {
    key.type = ValueType::integers;
    key.sweepable = true;
    const KeyInfo copy = key;
    return add(std::move(key), [copy, set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_integers(path, node, copy));
    });
  }

  /// Numbers, handed to `set(spec, values)`.
  template <class Set>
  Section& numbers_by(KeyInfo key, Set set) {
    key.type = ValueType::numbers;
    return add(std::move(key), [set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_numbers(path, node));
    });
  }

  template <class Field>
  Section& size(KeyInfo key, Field Spec::*field) {
    return size_by(std::move(key), [field](Spec& spec, std::int64_t value) { spec.*field = value; });
  }

  /// Bytes of memory, handed to `set(spec, value)`.
  template <class Set>
  Section& size_by(KeyInfo key, Set set) {
    key.type = ValueType::size;
    key.sweepable = true;
    return add(std::move(key), [set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_size(path, node));
    });
  }

  Section& sizes(KeyInfo key, std::vector<std::int64_t> Spec::*field) {
    key.type = ValueType::sizes;
    return add(std::move(key), [field](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      spec.*field = read_sizes(path, node);
    });
  }

  template <class Field>  // double or std::optional<double>
  Section& number(KeyInfo key, Field Spec::*field) {
    return number_by(std::move(key), [field](Spec& spec, double value) { spec.*field = value; });
  }

  /// A number that `set(spec, value)` puts where it belongs.
  template <class Set>
  Section& number_by(KeyInfo key, Set set) {
    key.type = ValueType::number;
    key.sweepable = true;
    return add(std::move(key), [set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_number(path, node));
    });
  }

  Section& text(KeyInfo key, std::string Spec::*field) {
    key.type = ValueType::text;
    return add(std::move(key), [field](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      spec.*field = read_text(path, node);
    });
  }

  Section& texts(KeyInfo key, std::vector<std::string> Spec::*field) {
    key.type = ValueType::texts;
    return add(std::move(key), [field](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      spec.*field = read_texts(path, node);
    });
  }

  Section& flag(KeyInfo key, bool Spec::*field) {
    return flag_by(std::move(key), [field](Spec& spec, bool value) { spec.*field = value; });
  }

  /// Yes or no, which `set(spec, value)` puts where it belongs.
  template <class Set>
  Section& flag_by(KeyInfo key, Set set) {
    key.type = ValueType::flag;
    key.sweepable = true;
    return add(std::move(key), [set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_flag(path, node));
    });
  }

  /// One of `key.choices`, handed to `set(spec, word)`.
  template <class Set>
  Section& choice_by(KeyInfo key, Set set) {
    key.type = ValueType::choice;
    key.sweepable = true;
    const KeyInfo copy = key;
    return add(std::move(key), [copy, set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_choice(path, node, copy));
    });
  }

  /// One or more of `key.choices`, handed to `set(spec, words)`.
  template <class Set>
  Section& choices_by(KeyInfo key, Set set) {
    key.type = ValueType::choices;
    const KeyInfo copy = key;
    return add(std::move(key), [copy, set](ReadContext&, const std::string& path, const YamlNode& node, Spec& spec) {
      set(spec, read_choices(path, node, copy));
    });
  }

  /// One of `key.choices`, each of which `parse` understands: an optional, or for a pointer never a null one.
  template <class Field, class Parse>
  Section& choice(KeyInfo key, Field Spec::*field, Parse parse) {
    return choice_by(std::move(key), [field, parse](Spec& spec, const std::string& word) {
      if constexpr (std::is_pointer_v<Field>)
        spec.*field = parse(word);
      else
        spec.*field = parse(word).value();
    });
  }

  /// A mapping into a field that is a spec of its own, or std::optional of one; absent keys of the mapping keep
  /// the values of `start`. The doc of the key is that of the section; `section` must outlive this one.
  template <class Field, class Inner>
  Section& section(KeyInfo key, Field Spec::*field, const Section<Inner>& section, Inner start = {}) {
    key.type = ValueType::section;
    key.doc = section.info().doc;
    key.section = &section.info();
    return add(std::move(key), [&section, field, start](ReadContext& context, const std::string& path,
                                                        const YamlNode& node, Spec& spec) {
      Inner inner = start;
      section.read(context, path, node, inner);
      spec.*field = std::move(inner);
    });
  }

  /// A list of mappings into a list of specs; values inside it are never swept. `section` must outlive this one.
  template <class Inner>
  Section& sections(KeyInfo key, std::vector<Inner> Spec::*field, const Section<Inner>& section) {
    key.type = ValueType::sections;
    key.section = &section.info();
    return add(std::move(key), [&section, field](ReadContext& context, const std::string& path, const YamlNode& node,
                                                 Spec& spec) {
      spec.*field = read_sections(context, path, node, section);
    });
  }

  /// Reads a mapping into the spec, which keeps its defaults for keys that are absent.
  void read(ReadContext& context, const std::string& path, const YamlNode& node, Spec& spec) const {
    check_section(context, path, node, info_);
    for (std::size_t i = 0; i < info_.keys.size(); ++i)
      if (const YamlNode* value = node.find(info_.keys[i].name))
        readers_[i](context, path_of(path, info_.keys[i].name), *value, spec);
    if (check_) check_(path, node, spec);
  }

  /// Reads one key of a mapping again, into a spec that `read` made of the mapping with another value of that key.
  /// Pre: a key of this section that the mapping has.
  void read_key(ReadContext& context, const std::string& path, const YamlNode& node, std::string_view key,
                Spec& spec) const {
    for (std::size_t i = 0; i < info_.keys.size(); ++i)
      if (info_.keys[i].name == key) readers_[i](context, path_of(path, key), *node.find(key), spec);
  }

 private:
  SectionInfo info_;
  std::vector<Reader> readers_;
  Check check_;
};

/// A list of mappings, each with the keys of the section.
template <class Spec>
std::vector<Spec> read_sections(ReadContext& context, const std::string& path, const YamlNode& node,
                                const Section<Spec>& section) {
  check_list(path, node);
  std::vector<Spec> specs(node.items.size());
  for (std::size_t i = 0; i < specs.size(); ++i)
    section.read(context, path + "[" + std::to_string(i) + "]", node.items[i], specs[i]);
  return specs;
}

}  // namespace hybridkv
