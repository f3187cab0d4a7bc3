#include "ask/kernels/kernel_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/byte_source.h"
#include "base/error.h"

namespace hybridkv {

namespace {

using nlohmann::json;

constexpr std::string_view card_schema = "hybridkv-kernel-card/1";

/// Far more than any card has.
constexpr std::size_t most_card_bytes = std::size_t(16) << 20;

/// The values of a card, with messages that name the file and the key.
class CardReader {
 public:
  explicit CardReader(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void refuse(const std::string& key, std::string_view what) const {
    throw InputError(fmt::format("{}: {}: {}; cards are written by hybridkv.testing of the Python package, card.save()",
                                 file_, key, what));
  }
  const json& at(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(key, "is missing");
    return object[key];
  }
  /// Empty for null.
  std::string text(const json& object, const char* key) const {
    const json& value = at(object, key);
    if (value.is_null()) return {};
    if (!value.is_string()) refuse(key, "is no text");
    return value.get<std::string>();
  }
  std::vector<std::string> texts(const json& object, const char* key) const {
    std::vector<std::string> all;
    for (const json& one : list(object, key)) {
      if (!one.is_string()) refuse(key, "is no list of texts");
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  const json& list(const json& object, const char* key) const {
    const json& value = at(object, key);
    if (!value.is_array()) refuse(key, "is no list");
    return value;
  }
  bool yes(const json& object, const char* key) const {
    const json& value = at(object, key);
    if (!value.is_boolean()) refuse(key, "is neither true nor false");
    return value.get<bool>();
  }

  StrideRule rule(const json& derived) const {
    const std::string name = text(derived, "rule");
    const auto rule = value_in(stride_rule_names, name);
    if (!rule)
      refuse("rule", fmt::format("'{}' is none; allowed: {}", name, fmt::join(names_of(stride_rule_names), ", ")));
    return *rule;
  }

  CardView view(const json& group) const {
    CardView view{.name = text(group, "group"), .axes = texts(group, "axes"), .refuses = texts(group, "refuses")};
    for (const json& derived : list(group, "derives")) {
      DerivedStride stride{text(derived, "axis"), rule(derived), texts(derived, "extents"), 1,
                           text(derived, "stride_of")};
      const json& factor = at(derived, "factor");
      if (!factor.is_number_integer() || factor.get<std::int64_t>() < 1) refuse("factor", "is no whole number above 0");
      stride.factor = factor.get<std::int64_t>();
      if (stride.rule == StrideRule::next && stride.extents.size() != 1)
        refuse("extents", "of rule next names one axis");
      view.derives.push_back(std::move(stride));
    }
    for (const json& offset : list(group, "offset_bits"))
      if (const json& bits = at(offset, "bits"); bits.is_number_integer() && bits.get<std::int64_t>() == 32)
        view.narrow.push_back(text(offset, "axis"));
    return view;
  }

 private:
  std::string file_;
};

}  // namespace

std::string KernelCard::title() const {
  return fmt::format("{}{}{}{}", package, package.empty() ? "" : ".", name, version.empty() ? "" : " " + version);
}

KernelCard read_kernel_card(const std::string& file) {
  return parse_kernel_card(whole_text(file, most_card_bytes, "card of a kernel"), file);
}

KernelCard parse_kernel_card(const std::string& text, const std::string& name) {
  const CardReader reader(name);
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) throw InputError(name + ": is no JSON object, so no card of a kernel");
  if (reader.text(root, "schema") != card_schema)
    reader.refuse("schema", fmt::format("is '{}', and {} is read", reader.text(root, "schema"), card_schema));
  KernelCard card{.name = reader.text(reader.at(root, "kernel"), "name"),
                  .package = reader.text(root["kernel"], "package"),
                  .version = reader.text(root["kernel"], "version"),
                  .check = reader.text(root, "check"),
                  .family = reader.text(root, "family"),
                  .home = reader.text(root, "home"),
                  .answer = reader.text(root, "answer")};
  const json& ran = reader.at(root, "ran");
  card.ran = reader.text(ran, "arrays") + " on " + reader.text(ran, "device") +
             (reader.yes(ran, "interpreter") ? ", in Triton's interpreter" : "");
  if (!reader.at(root, "stale_safe").is_null()) card.stale_safe = reader.yes(root, "stale_safe");
  for (const json& group : reader.list(root, "groups")) card.views.push_back(reader.view(group));
  return card;
}

std::vector<KernelCard> read_kernel_cards(const std::vector<std::string>& files) {
  std::vector<KernelCard> cards;
  for (const std::string& file : files) cards.push_back(read_kernel_card(file));
  return cards;
}

}  // namespace hybridkv
