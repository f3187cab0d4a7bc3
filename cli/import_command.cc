#include <fmt/format.h>

#include <algorithm>
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

struct ImportFlags {
  std::string config;
  std::string output;
  std::string name;
  std::string dtype;
  std::string as_class;
  bool explain = false;
  bool template_alone = false;
  Overwrite overwrite = Overwrite::no;
};

/// The model file, or the numbers of the model with the fields behind them.
std::string explained(const ImportedModel& imported) {
  std::size_t key_width = 0, value_width = 0, field_width = 0;
  for (const ImportedNumber& number : imported.numbers) {
    key_width = std::max(key_width, number.key.size());
    value_width = std::max(value_width, std::min(number.value.size(), std::size_t{28}));
    field_width = std::max(field_width, number.field.size());
  }
  std::string text;
  for (const ImportedNumber& number : imported.numbers)
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", number.key, key_width, printable(number.value), value_width,
                        printable(number.field), field_width, printable(number.origin));
  if (!imported.readings.empty()) text += "\nWhat is kept otherwise elsewhere\n";
  for (const std::string& reading : imported.readings) text += reading + "\n";
  return text;
}

int run_import(const ImportFlags& options) {
  const bool to_file = !options.output.empty() && options.output != "-";
  if (options.config.empty() && !options.template_alone)
    throw InputError(
        "CONFIG is missing: the config.json of a model, its folder, hf://organisation/name, or - for standard "
        "input; --template prints a model file to fill in");
  if (to_file) refuse_overwriting(options.output, {options.overwrite, {config_in(options.config)}});
  if (options.template_alone) {
    to_file ? write_file(options.output, model_template()) : write_output(model_template());
    return exit_fine;
  }
  const ImportedModel imported = import_model(
      options.config, {.name = options.name, .dtype = parse_dtype(options.dtype), .as_class = options.as_class});
  show_notes(imported.notes);
  if (!to_file) {
    write_output(options.explain ? explained(imported) : imported.yaml);
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
  const auto options = std::make_shared<ImportFlags>();
  command
      ->add_option("CONFIG", options->config, "the config.json of a model, its folder, hf://organisation/name, or -")
      ->type_name("");
  command->add_option("--output,-o", options->output, "model file to write (default: standard output)")
      ->type_name("FILE");
  command->add_option("--name", options->name, "name of the model (default: from the path of the config)")
      ->type_name("NAME");
  command
      ->add_option("--dtype", options->dtype, "element type of the model: bf16, fp16 or fp32 (default: the config's)")
      ->check(one_of({"bf16", "fp16", "fp32", "bfloat16", "float16", "float32"}))
      ->type_name("DTYPE");
  command->add_option("--as", options->as_class, "read it as the config of this model_type: llama, qwen3_next, ...")
      ->type_name("CLASS");
  command->add_flag("--explain", options->explain, "print the field behind each number in place of the model file");
  command->add_flag("--template", options->template_alone, "print a model file of nine lines to fill in");
  add_force_option(*command, options->overwrite);
  command->footer(
      "Examples:\n"
      "  hybridkv import config.json\n"
      "  hybridkv import config.json --explain\n"
      "  hybridkv import config.json --name my-hybrid -o my-hybrid.yaml\n"
      "  hybridkv plan --model my-hybrid.yaml --memory 40G --max-model-len 32k\n"
      "  hybridkv plan --model config.json --memory 40G --max-model-len 32k\n"
      "The last one plans a config directly. A config is read by what it says of its\n"
      "layers, with the defaults of its class in Transformers where it is silent; what\n"
      "it declares of caches and no model file holds is said. hf://Qwen/Qwen3-8B is the\n"
      "config that `hf download Qwen/Qwen3-8B config.json` has fetched.");
  command->callback([options, &action] { action = [options] { return run_import(*options); }; });
}

}  // namespace hybridkv
