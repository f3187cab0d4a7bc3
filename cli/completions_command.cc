#include <fmt/format.h>

#include <memory>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/completion_script.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/values.h"

namespace hybridkv {

namespace {

/// What the scripts ask the program for, in place of a shell.
constexpr const char* asked_by_scripts = "candidates";

struct CompletionsOptions {
  std::string shell;
  std::string output;
};

/// A word a line, behind a tab what it means; at last whether names of files or folders are as good.
std::string candidate_lines(const Completion& completion) {
  std::string lines;
  for (const Candidate& candidate : completion.candidates)
    lines += candidate.description.empty() ? candidate.word + "\n"
                                           : fmt::format("{}\t{}\n", candidate.word, candidate.description);
  if (completion.files) lines += ":files\n";
  if (completion.folders) lines += ":folders\n";
  return lines;
}

}  // namespace

void add_completions_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("completions", "Print a script that makes a shell complete commands and values");
  const auto options = std::make_shared<CompletionsOptions>();
  std::vector<std::string> words = completed_shells();
  command->add_option("SHELL", options->shell, fmt::format("{}, {} or {}", words[0], words[1], words[2]))
      ->check(offers({words}))
      ->check(one_of([&] {
        words.push_back(asked_by_scripts);
        return words;
      }()))
      ->required()
      ->type_name("");
  command->add_option("--output,-o", options->output, "file to write (default: standard output)")->type_name("FILE");
  command->prefix_command();
  command->footer(
      "Examples:\n"
      "  hybridkv completions bash\n"
      "  hybridkv completions zsh -o _hybridkv\n"
      "  hybridkv completions candidates -- plan --engine vllm\n"
      "For this session alone: source <(hybridkv completions bash), the same in zsh\n"
      "behind its compinit, and in fish hybridkv completions fish | source. For all of\n"
      "them: `cmake --install` puts the scripts where shells look. Words, flags, values,\n"
      "models and keys of scenarios come from the program that is on the command line;\n"
      "the third example is how a script asks it.");
  command->callback([options, command, &app, &action] {
    std::vector<std::string> typed = command->remaining();
    if (!typed.empty() && options->shell != asked_by_scripts)
      throw CLI::ValidationError("SHELL", fmt::format("nothing may stand behind {}", options->shell));
    action = [options, &app, typed = std::move(typed)] {
      const std::string text = options->shell == asked_by_scripts ? candidate_lines(complete(app, typed))
                                                                  : completion_script(options->shell);
      if (options->output.empty() || options->output == "-") write_output(text);
      else write_file(options->output, text);
      return exit_fine;
    };
  });
}

}  // namespace hybridkv
