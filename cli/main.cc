#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/engine_command.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/usage.h"
#include "cli/version.h"

namespace {

using namespace hybridkv;

/// Runs a command and turns what it throws into a message and an exit code.
int run(const CommandAction& action) {
  const auto report = [](const std::string& message, ExitCode code) {
    write_message("hybridkv: " + message);
    return static_cast<int>(code);
  };
  try {
    return action();
  } catch (const ResourceError& error) {
    return report(error.what(), exit_no_resources);
  } catch (const ProgramError& error) {
    return report(error.what(), exit_program_missing);
  } catch (const Error& error) {
    return report(error.what(), exit_bad_input);
  } catch (const std::bad_alloc&) {
    return report("not enough memory for this request", exit_no_resources);
  } catch (const std::system_error& error) {
    // What the system refuses is for the user to know, and no bug: threads, files, folders.
    return report(fmt::format("the system refuses: {}", error.what()), exit_no_resources);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error, please report it: {}", error.what()), exit_internal);
  }
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  CLI::App app{"Plan, verify and measure KV-cache layouts of hybrid Mamba/attention models", "hybridkv"};
  app.set_version_flag("--version", version_text(), "print version, commit and formats and exit");
  app.set_help_flag("--help,-h", "print this help and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  app.footer(
      "`hybridkv help COMMAND` or `hybridkv COMMAND --help` shows the flags and the\n"
      "examples of a command. To begin with: hybridkv models, hybridkv plan example.\n"
      "\n"
      "Sizes: 40GiB or 40G (powers of 1,024), 40GB (powers of 1,000), or bytes. Tokens:\n"
      "32768 or 32k, 1M (k = 1,024). - is standard input where a file is read.\n"
      "\n"
      "Exit codes: 0 fine, 1 a check found a fault, 2 bad input (or no command at all),\n"
      "3 not enough memory or disk, 4 a program is missing, 5 not everything could be\n"
      "proven.");
  CommandAction action;
  add_plan_command(app, action);
  add_explain_command(app, action);
  add_whose_command(app, action);
  add_compare_command(app, action);
  add_verify_command(app, action);
  add_attend_command(app, action);
  add_bench_command(app, action);
  add_plot_command(app, action);
  add_report_command(app, action);
  add_simulate_command(app, action);
  add_sweep_command(app, action);
  add_merge_command(app, action);
  add_trace_command(app, action);
  add_bound_command(app, action);
  add_transfer_command(app, action);
  add_recommend_command(app, action);
  add_boot_command(app, action);
  add_calibrate_command(app, action);
  add_doctor_command(app, action);
  add_audit_command(app, action);
  add_conform_command(app, action);
  add_emit_command(app, action);
  add_models_command(app, action);
  add_init_command(app, action);
  add_import_command(app, action);
  add_completions_command(app, action);
  add_man_command(app, action);
  const std::vector<std::string> words = with_engine_command(command_words(argc, argv));
  if (words.empty()) {
    write_message(first_steps());
    return exit_bad_input;
  }
  if (asks_for_candidates(words))
    return run([&] {
      write_output(candidate_lines(app, words));
      return exit_fine;
    });
  const auto refuse = [&](const std::string& problem) {
    write_message(fmt::format("hybridkv: {}\n{}", problem, help_advice(app, words)));
    return exit_bad_input;
  };
  if (const std::string problem = usage_problem(app, words); !problem.empty()) return refuse(problem);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return refuse(error.what());
    std::ostringstream help;
    app.exit(error, help, help);
    action = [text = help.str()] {
      write_output(text);
      return exit_fine;
    };
  }
  return run(action);
}
