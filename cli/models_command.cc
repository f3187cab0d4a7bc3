#include <fmt/format.h>

#include <memory>
#include <set>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "report/models_report.h"
#include "scenarios/model_library.h"

namespace hybridkv {

namespace {

struct ModelsOptions {
  std::string name;
  std::string family;
  OutputOptions output;
};

bool has_family(const ModelSpec& model, const std::string& family) {
  for (const LayerSpec& layer : model.layers)
    if (layer.recurrent && family_name(*layer.recurrent) == family) return true;
  return false;
}

bool is_called(const ShippedModel& shipped, const std::string& part) {
  if (contains_ignoring_case(shipped.model.name, part) || find_shipped_model(part) == &shipped) return true;
  for (const std::string& alias : shipped.aliases)
    if (contains_ignoring_case(alias, part)) return true;
  return false;
}

/// Families of the shipped models, for the message that there is no such one.
std::vector<std::string> shipped_families() {
  std::set<std::string> families;
  for (const ShippedModel& shipped : shipped_models())
    for (const LayerSpec& layer : shipped.model.layers)
      if (layer.recurrent) families.emplace(family_name(*layer.recurrent));
  return {families.begin(), families.end()};
}

std::vector<ListedModel> chosen_models(const ModelsOptions& options) {
  std::vector<ListedModel> models;
  bool knows_family = options.family.empty();
  for (const ShippedModel& shipped : shipped_models()) {
    const bool of_family = options.family.empty() || has_family(shipped.model, options.family);
    knows_family = knows_family || of_family;
    if (of_family && is_called(shipped, options.name))
      models.push_back({shipped.model, shipped.aliases, shipped.unverified});
  }
  if (!knows_family)
    throw InputError(fmt::format("--family {}: no shipped model has layers of it{}", options.family,
                                 suggestion(options.family, shipped_families(), "families:")));
  if (models.empty())
    throw InputError(fmt::format("no shipped model{} is called '{}'{}",
                                 options.family.empty() ? "" : " of family " + options.family, options.name,
                                 shipped_model_suggestion(options.name)));
  return models;
}

}  // namespace

void add_models_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("models", "List the models that come with hybridkv: layers, bytes, block");
  const auto options = std::make_shared<ModelsOptions>();
  command->add_option("NAME", options->name, "only models with this in their name or a further name")->type_name("");
  command->add_option("--family", options->family, "only models with layers of this family: gdn, mamba2, ...")
      ->type_name("FAMILY");
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  hybridkv models\n"
      "  hybridkv models qwen --family gdn\n"
      "  hybridkv models --format csv");
  command->callback([options, &action] {
    action = [options] {
      write_output(render_models(chosen_models(*options), options->output.format(), options->output.style()));
      return exit_fine;
    };
  });
}

}  // namespace hybridkv
