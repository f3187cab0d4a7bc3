#include "scenarios/what_if_keys.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "scenarios/key_builders.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "0..2, 4, 8..16 step 4" as numbers of layers; nothing where it is no such list.
std::optional<std::vector<std::int64_t>> parse_layers(std::string_view text) {
  std::vector<std::int64_t> layers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = without_spaces(text.substr(0, comma));
    if (is_range(part)) {
      const ParsedRange range = parse_range(part);
      if (!range.problem.empty()) return std::nullopt;
      layers.insert(layers.end(), range.values.begin(), range.values.end());
    } else {
      const ParsedNumber layer = parse_integer(part);
      if (!layer.problem.empty()) return std::nullopt;
      layers.push_back(layer.value);
    }
    if (comma == std::string_view::npos) return layers;
    text.remove_prefix(comma + 1);
  }
}

void read_formula(ReadContext&, const std::string& path, const YamlNode& node, SupposedLayout& what_if) {
  what_if.block_formula = read_text(path, node);
}

void read_groups(ReadContext&, const std::string& path, const YamlNode& node, SupposedLayout& what_if) {
  what_if.groups.clear();
  for (const std::string& text : read_texts(path, node)) {
    const auto layers = parse_layers(text);
    if (!layers)
      throw error_at(node.place, fmt::format("{}: '{}' is no list of layers; write numbers and ranges, like \"3, 7\" "
                                             "or \"0..2, 4..6\"", path, text));
    what_if.groups.push_back(*layers);
  }
}

}  // namespace

const Section<SupposedLayout>& what_if_keys() {
  static const Section<SupposedLayout> section = [] {
    Section<SupposedLayout> keys("engine.what_if",
                                 "rules of a layout that no engine has, in place of the engine's own; what follows "
                                 "from them is modelled; default: none");
    KeyInfo formula = key("block_formula",
                          "tokens of a block, as a formula over A (the smallest block of kernels and user), M (bytes "
                          "of a state), N (layers of a page), a1 (bytes of a token and layer), k (tokens at which "
                          "scans export states) and in mode all C (the chunk of the scan and A); + - * / ceil floor "
                          "max min lcm; default: the engine's rule");
    formula.type = ValueType::text;
    formula.sweepable = true;
    keys.add(std::move(formula), read_formula);
    keys.size(key("page_bytes", "bytes of the page of every layer, at least what lies in it; default: the largest"),
              &SupposedLayout::page_bytes);
    KeyInfo groups = key("groups", "the layers of each group, which share a block table: a text each, like \"3, 7\" or "
                                   "\"0..2, 4..6\"; every layer that caches something once; default: by the engine's "
                                   "rule");
    groups.type = ValueType::texts;
    keys.add(std::move(groups), read_groups);
    keys.integer_by(amount("state_first_byte", "byte of its page at which a state begins; default 0", 0),
                    [](SupposedLayout& what_if, std::int64_t byte) { what_if.states.first_byte = byte; })
        .integer_by(amount("state_alignment_bytes", "bytes of which the tensors of a state begin at a multiple; "
                                                    "default 1: at one of their elements"),
                    [](SupposedLayout& what_if, std::int64_t bytes) { what_if.states.alignment = bytes; })
        .choice_by(with_choices(key("state_order",
                                    "which tensor of a state lies first in its page; default conv_first"),
                                {"conv_first", "recurrent_first"}),
                   [](SupposedLayout& what_if, const std::string& word) {
                     what_if.states.recurrent_first = word == "recurrent_first";
                   });
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
