#include "scenarios/model_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/suggest.h"
#include "scenarios/embedded_files.h"
#include "scenarios/model_name.h"
#include "scenarios/model_reader.h"

namespace hybridkv {

namespace {

/// Where the organisation ends and the name begins.
std::string without_organisation(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

/// What a shipped file calls its model, which its first lines say.
struct ShippedNames {
  std::string name;
  std::vector<std::string> aliases;
  std::string file;
};

/// The rest of the line that begins with `key`; empty where none does.
std::string_view line_of(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) return line.substr(key.size());
    at = end + 1;
  }
  return {};
}

/// Names without reading the file as YAML, which takes a hundred times as long: whoever asks for one model would wait
/// for all of them. A test reads both.
ShippedNames names_of(const EmbeddedFile& file) {
  ShippedNames names{std::string(line_of(file.text, "name: ")), {}, std::string(file.path)};
  std::string_view list = line_of(file.text, "aliases: [");
  list = list.substr(0, list.find(']'));
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    names.aliases.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return names;
}

const std::vector<ShippedNames>& names_of_models() {
  static const std::vector<ShippedNames> names = [] {
    std::vector<ShippedNames> all;
    for (const EmbeddedFile& file : embedded_files())
      if (file.path.starts_with("models/")) all.push_back(names_of(file));
    return all;
  }();
  return names;
}

/// The model of that number in names_of_models, read when it is first asked for.
const ShippedModel& model_at(std::size_t number) {
  struct Shipped {
    std::once_flag read;
    ShippedModel model;
  };
  static std::vector<Shipped> all(names_of_models().size());
  Shipped& shipped = all[number];
  std::call_once(shipped.read, [&] {
    const std::string& file = names_of_models()[number].file;
    ReadContext context;
    ModelFile read = read_shipped_model(context, "model", file);
    shipped.model = {std::move(read.model), std::move(read.aliases), std::move(read.unverified), file};
  });
  return shipped.model;
}

/// The name or alias of a model that is meant, with or without suffixes; empty where none is.
std::string matching_name(const std::string& model, const std::vector<std::string>& aliases, const std::string& name,
                          bool look_through_suffixes) {
  const auto reduced = [&](const std::string& text) {
    return look_through_suffixes ? split_published_name(text).base : without_organisation(text);
  };
  if (equal_ignoring_case(reduced(model), reduced(name))) return model;
  for (const std::string& alias : aliases)
    if (equal_ignoring_case(reduced(alias), reduced(name))) return alias;
  return {};
}

std::string matching_name(const ShippedModel& shipped, const std::string& name, bool look_through_suffixes) {
  return matching_name(shipped.model.name, shipped.aliases, name, look_through_suffixes);
}

}  // namespace

const std::vector<ShippedModel>& shipped_models() {
  static const std::vector<ShippedModel> models = [] {
    std::vector<ShippedModel> all;
    for (std::size_t i = 0; i < names_of_models().size(); ++i) all.push_back(model_at(i));
    return all;
  }();
  return models;
}

const ShippedModel* find_shipped_model(const std::string& name) {
  const std::vector<ShippedNames>& all = names_of_models();
  for (const bool look_through_suffixes : {false, true})
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!matching_name(all[i].name, all[i].aliases, name, look_through_suffixes).empty()) return &model_at(i);
  return nullptr;
}

std::string shipped_name(const ShippedModel& shipped, const std::string& name) {
  const std::string exact = matching_name(shipped, name, false);
  return exact.empty() ? matching_name(shipped, name, true) : exact;
}

std::string assumed_of_name(const ShippedModel& shipped, const std::string& name) {
  if (!matching_name(shipped, name, false).empty()) return {};
  const PublishedName parts = split_published_name(name);
  std::string text = fmt::format("{} is planned with the layers of {}", without_organisation(name),
                                 shipped_name(shipped, name));
  if (parts.quantised.empty()) return text;
  const std::string_view dtype = to_string(shipped.model.dtype);
  if (parts.kv_quantised)
    return text + fmt::format("; K and V are kept in {} although the name says KV: --kv-dtype fp8 changes that", dtype);
  return text + fmt::format("; {} is taken for the weights alone: K and V are kept in {} unless --kv-dtype is given",
                            parts.quantised, dtype);
}

std::vector<std::string> shipped_model_own_names() {
  std::vector<std::string> names;
  for (const ShippedNames& shipped : names_of_models()) names.push_back(shipped.name);
  return names;
}

std::vector<std::string> shipped_model_names() {
  std::vector<std::string> names;
  for (const ShippedNames& shipped : names_of_models()) {
    names.push_back(shipped.name);
    names.insert(names.end(), shipped.aliases.begin(), shipped.aliases.end());
  }
  return names;
}

std::string shipped_model_suggestion(const std::string& name) {
  for (const std::string& text : {name, split_published_name(name).base})
    if (std::string meant = did_you_mean(text, shipped_model_names()); !meant.empty()) return meant;
  return "; `hybridkv models` lists the shipped ones";
}

}  // namespace hybridkv
