#include "scenarios/model_library.h"

#include "scenarios/embedded_files.h"
#include "scenarios/model_reader.h"
#include "scenarios/suggest.h"

namespace hybridkv {

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
  for (const ShippedModel& shipped : shipped_models()) {
    if (equal_ignoring_case(shipped.model.name, name)) return &shipped;
    for (const std::string& alias : shipped.aliases)
      if (equal_ignoring_case(alias, name)) return &shipped;
  }
  return nullptr;
}

std::string shipped_model_suggestion(const std::string& name) {
  std::vector<std::string> names;
  for (const ShippedModel& shipped : shipped_models()) {
    names.push_back(shipped.model.name);
    names.insert(names.end(), shipped.aliases.begin(), shipped.aliases.end());
  }
  if (closest_words(name, names).empty()) return "; `hybridkv models` lists the shipped ones";
  return suggestion(name, names, "");
}

}  // namespace hybridkv
