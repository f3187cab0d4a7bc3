#include "scenarios/hf_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "scenarios/embedded_files.h"
#include "scenarios/json_tree.h"

namespace hybridkv {

namespace {

/// The lines of the table by model_type: one class a line, so that only the classes asked for are parsed.
struct ClassTable {
  std::string package;
  std::vector<std::string> names;
  std::map<std::string, std::string_view, std::less<>> objects;
};

/// The text in the first pair of quotes, and what follows the colon behind it.
std::pair<std::string, std::string_view> key_and_value(std::string_view line) {
  const std::size_t begin = line.find('"') + 1;
  const std::size_t end = line.find('"', begin);
  std::string_view value = line.substr(line.find(':', end) + 1);
  while (!value.empty() && (value.back() == ',' || value.back() == '\n')) value.remove_suffix(1);
  return {std::string(line.substr(begin, end - begin)), value};
}

ClassTable read_table() {
  ClassTable table;
  std::string_view rest = embedded_class_defaults().front().text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find('"') == std::string_view::npos) continue;
    auto [key, value] = key_and_value(line);
    if (table.package.empty()) {
      const std::size_t begin = value.find('"') + 1;
      table.package = value.substr(begin, value.find('"', begin) - begin);
      continue;
    }
    table.names.push_back(key);
    table.objects.emplace(std::move(key), value);
  }
  return table;
}

const ClassTable& class_table() {
  static const ClassTable table = read_table();
  return table;
}

YamlNode word_node(const std::string& word, const YamlNode& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = word;
  node.quoted = true;
  node.place = text.place;
  node.key_place = text.place;
  return node;
}

/// "3*linear_attention full_attention" as one name a layer.
std::vector<std::string> words_of(std::string_view runs) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(runs)};
  for (std::string run; stream >> run;) {
    const std::size_t star = run.find('*');
    std::int64_t count = 1;
    if (star != std::string::npos) std::from_chars(run.data(), run.data() + star, count);
    const std::string word = star == std::string::npos ? run : run.substr(star + 1);
    words.insert(words.end(), static_cast<std::size_t>(count), word);
  }
  return words;
}

}  // namespace

std::shared_ptr<const YamlNode> hf_class_defaults(const std::string& model_type) {
  const auto found = class_table().objects.find(model_type);
  if (found == class_table().objects.end()) return nullptr;
  const std::string name = fmt::format("class default of {} in {}", model_type, hf_defaults_package());
  return std::make_shared<const YamlNode>(parse_json(found->second, {name, "", {}}));
}

const std::string& hf_defaults_package() { return class_table().package; }

const std::vector<std::string>& hf_known_classes() { return class_table().names; }

std::string hf_ways_out() {
  return fmt::format(
      "; ways out: `hybridkv import CONFIG --as CLASS` reads it as a class of {} (--as llama), and "
      "`hybridkv import --template` prints a model file of nine lines to fill in",
      hf_defaults_package());
}

std::vector<YamlNode> hf_default_layers(const YamlNode& text, std::int64_t layers) {
  const std::string_view runs = text.text;
  const bool repeats = runs.starts_with('(');
  const std::size_t end = repeats ? runs.find(')') : runs.size();
  const std::vector<std::string> period = words_of(runs.substr(repeats ? 1 : 0, end - (repeats ? 1 : 0)));
  const std::size_t count = layers == 0 && !repeats ? period.size() : static_cast<std::size_t>(layers);
  if (period.empty() || (!repeats && period.size() != count)) return {};
  std::vector<YamlNode> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(word_node(period[i % period.size()], text));
  const std::vector<std::string> forced = words_of(repeats ? runs.substr(end + 1) : std::string_view());
  if (!forced.empty() && !list.empty()) list.back() = word_node(forced.front(), text);
  return list;
}

}  // namespace hybridkv
