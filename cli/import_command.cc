#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "layout/error.h"
#include "scenarios/model_import.h"

namespace hybridkv {

namespace {

struct ImportOptions {
  std::string config;
  std::string output;
  std::string name;
  bool overwrite = false;
};

int run_import(const ImportOptions& options) {
  if (!options.output.empty() && !options.overwrite && std::filesystem::exists(options.output))
    throw InputError(options.output + ": exists already; take another name, or --force to overwrite it");
  const ImportedModel imported = import_model(options.config, options.name);
  if (options.output.empty()) {
    write_output(imported.yaml);
    return exit_fine;
  }
  write_file(options.output, imported.yaml);
  write_output(fmt::format("{}: {}, {} layers\n", options.output, imported.model.name, imported.model.layers.size()));
  return exit_fine;
}

}  // namespace

void add_import_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("import", "Make a model file from a published Hugging Face config.json");
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("CONFIG", options->config, "the config.json of a hybrid model")->type_name("")->required();
  command->add_option("--output,-o", options->output, "model file to write (default: standard output)")
      ->type_name("FILE");
  command->add_option("--name", options->name, "name of the model (default: from the path of the config)")
      ->type_name("NAME");
  command->add_flag("--force", options->overwrite, "overwrite the file that --output names");
  command->footer(
      "Examples:\n"
      "  hybridkv import Qwen3.5-4B/config.json\n"
      "  hybridkv import config.json --name my-hybrid -o my-hybrid.yaml\n"
      "  hybridkv plan --model Qwen3.5-4B/config.json --memory 20GiB --max-model-len 131072\n"
      "The last one plans a config directly. Only what the config declares counts, by its own model_type.");
  command->callback([options, &action] { action = [options] { return run_import(*options); }; });
}

}  // namespace hybridkv
