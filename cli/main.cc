#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "layout/error.h"

namespace {

using namespace hybridkv;

/// Runs a command and turns what it throws into a message and an exit code.
int run(const CommandAction& action) {
  const auto report = [](const std::string& message, ExitCode code) {
    fmt::print(stderr, "hybridkv: {}\n", message);
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
  } catch (const std::exception& error) {
    return report(fmt::format("internal error, please report it: {}", error.what()), exit_internal);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that closes the pipe (head, less) ends the output, not the program.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"Plan, verify and measure KV-cache layouts of hybrid Mamba/attention models", "hybridkv"};
  app.set_version_flag("--version", "hybridkv " HYBRIDKV_VERSION);
  app.set_help_flag("--help,-h", "print this help and exit");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 fine, 1 a check found a fault, 2 bad input, 3 not enough memory or disk, 4 a program is missing.\n"
             "`hybridkv COMMAND --help` shows the flags and examples of a command.");
  CommandAction action;
  add_plan_command(app, action);
  add_explain_command(app, action);
  add_verify_command(app, action);
  add_attend_command(app, action);
  add_bench_command(app, action);
  add_plot_command(app, action);
  add_report_command(app, action);
  add_simulate_command(app, action);
  add_sweep_command(app, action);
  add_merge_command(app, action);
  add_recommend_command(app, action);
  add_models_command(app, action);
  add_import_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "hybridkv: {}\nRun with --help for more information.\n", error.what());
    return exit_bad_input;
  }
  return run(action);
}
