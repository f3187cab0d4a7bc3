#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/completion_script.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/values.h"

namespace hybridkv {

namespace {

struct CompletionsOptions {
  std::string shell;
  std::string output;
  Overwrite overwrite = Overwrite::no;
};

}  // namespace

void add_completions_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("completions", "Print a script that makes a shell complete commands and values");
  const auto options = std::make_shared<CompletionsOptions>();
  command->add_option("SHELL", options->shell, fmt::format("{}", fmt::join(completed_shells(), ", ")))
      ->check(one_of(completed_shells()))
      ->required()
      ->type_name("");
  command->add_option("--output,-o", options->output, "file to write (default: standard output)")->type_name("FILE");
  add_force_option(*command, options->overwrite);
  command->footer(with_engines(
      "Examples:\n"
      "  hybridkv completions bash\n"
      "  hybridkv completions zsh -o _hybridkv\n"
      "  hybridkv completions candidates plan --engine {family}\n"
      "For this session alone: source <(hybridkv completions bash), the same in zsh\n"
      "behind its compinit, and in fish hybridkv completions fish | source. For all of\n"
      "them: `cmake --install` puts the scripts where shells look. Commands, flags,\n"
      "values, models and keys of scenarios come from the program that is typed; the\n"
      "third example is how a script asks what the last word can become."));
  command->callback([options, &action] {
    action = [options] {
      const std::string script = completion_script(options->shell);
      if (options->output.empty() || options->output == "-") write_output(script);
      else {
        refuse_overwriting(options->output, {options->overwrite, {}});
        write_file(options->output, script);
      }
      return exit_fine;
    };
  });
}

}  // namespace hybridkv
