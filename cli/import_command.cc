#include <fmt/format.h>

#include <memory>

#include "base/dtype.h"
#include "base/error.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "scenarios/model_import.h"
#include "scenarios/model_reader.h"

namespace hybridkv {

namespace {

struct ImportOptions {
  std::string config;
  std::string output;
  std::string name;
  std::string dtype;
  Overwrite overwrite = Overwrite::no;
};

int run_import(const ImportOptions& options) {
  const bool to_file = !options.output.empty() && options.output != "-";
  if (to_file) refuse_overwriting(options.output, {options.overwrite, {config_in(options.config)}});
  const ImportedModel imported = import_model(options.config, options.name, parse_dtype(options.dtype));
  show_notes(imported.notes);
  if (!to_file) {
    write_output(imported.yaml);
    return exit_fine;
  }
  write_file(options.output, imported.yaml);
  write_output(fmt::format("{}: {}, {}\n", printable(options.output), printable(imported.model.name),
                           human_plural(std::ssize(imported.model.layers), "layer")));
  return exit_fine;
}

}  // namespace

void add_import_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("import", "Make a model file from a published Hugging Face config.json");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("CONFIG", options->config, "the config.json of a hybrid model, its folder, or - for standard input")
      ->type_name("")
      ->required();
  command->add_option("--output,-o", options->output, "model file to write (default: standard output)")
      ->type_name("FILE");
  command->add_option("--name", options->name, "name of the model (default: from the path of the config)")
      ->type_name("NAME");
  command
      ->add_option("--dtype", options->dtype, "element type of the model: bf16, fp16 or fp32 (default: the config's)")
      ->check(one_of({"bf16", "fp16", "fp32", "bfloat16", "float16", "float32"}))
      ->type_name("DTYPE");
  add_force_option(*command, options->overwrite);
  command->footer(
      "Examples:\n"
      "  hybridkv import config.json\n"
      "  hybridkv import config.json --name my-hybrid -o my-hybrid.yaml\n"
      "  hybridkv plan --model my-hybrid.yaml --memory 40G --max-model-len 32k\n"
      "  hybridkv plan --model config.json --memory 40G --max-model-len 32k\n"
      "The last one plans a config directly. Only what the config declares counts, by\n"
      "its own model_type; what it declares of caches and no model file holds is said.");
  command->callback([options, &action] { action = [options] { return run_import(*options); }; });
}

}  // namespace hybridkv
