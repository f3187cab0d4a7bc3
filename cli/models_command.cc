#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ask/models.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "report/models_report.h"

namespace hybridkv {

namespace {

struct ModelsOptions {
  std::string name;
  std::string family;
  OutputOptions output;
};

std::vector<ListedModel> chosen_models(const ModelsOptions& options) {
  const std::vector<std::string> families = shipped_families();
  if (!options.family.empty() && std::find(families.begin(), families.end(), options.family) == families.end())
    throw InputError(fmt::format("--family {}: no shipped model has layers of it{}", options.family,
                                 suggestion(options.family, families, "families:")));
  std::vector<ListedModel> models = list_models(options.name, options.family);
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
  command->add_option("NAME", options->name, "only models with this in their name or a further name")
      ->check(offers({{offered_models}}))
      ->type_name("");
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
