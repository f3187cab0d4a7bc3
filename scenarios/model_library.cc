#include "scenarios/model_library.h"

#include <fmt/format.h>

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

/// The name or alias of this model that is meant, with or without suffixes; empty where none is.
std::string matching_name(const ShippedModel& shipped, const std::string& name, bool look_through_suffixes) {
  const auto reduced = [&](const std::string& text) {
    return look_through_suffixes ? split_published_name(text).base : without_organisation(text);
  };
  if (equal_ignoring_case(reduced(shipped.model.name), reduced(name))) return shipped.model.name;
  for (const std::string& alias : shipped.aliases)
    if (equal_ignoring_case(reduced(alias), reduced(name))) return alias;
  return {};
}

}  // namespace

const std::vector<ShippedModel>& shipped_models() {
  static const std::vector<ShippedModel> models = [] {
    std::vector<ShippedModel> all;
    for (const EmbeddedFile& file : embedded_files()) {
      if (!file.path.starts_with("models/")) continue;
      ReadContext context;
      ModelFile read = read_shipped_model(context, "model", std::string(file.path));
      all.push_back(
          {std::move(read.model), std::move(read.aliases), std::move(read.unverified), std::string(file.path)});
    }
    return all;
  }();
  return models;
}

const ShippedModel* find_shipped_model(const std::string& name) {
  for (const bool look_through_suffixes : {false, true})
    for (const ShippedModel& shipped : shipped_models())
      if (!matching_name(shipped, name, look_through_suffixes).empty()) return &shipped;
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

std::vector<std::string> shipped_model_names() {
  std::vector<std::string> names;
  for (const ShippedModel& shipped : shipped_models()) {
    names.push_back(shipped.model.name);
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
