#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace hybridkv {

/// What is left to do once the command line is understood; returns the exit code (cli/exit_codes.h).
using CommandAction = std::function<int()>;

/// Each adds one subcommand; when it is chosen, `action` is set to its work.
void add_plan_command(CLI::App& app, CommandAction& action);
void add_explain_command(CLI::App& app, CommandAction& action);
void add_whose_command(CLI::App& app, CommandAction& action);
void add_compare_command(CLI::App& app, CommandAction& action);
void add_verify_command(CLI::App& app, CommandAction& action);
void add_attend_command(CLI::App& app, CommandAction& action);
void add_bench_command(CLI::App& app, CommandAction& action);
void add_plot_command(CLI::App& app, CommandAction& action);
void add_report_command(CLI::App& app, CommandAction& action);
void add_simulate_command(CLI::App& app, CommandAction& action);
void add_sweep_command(CLI::App& app, CommandAction& action);
void add_merge_command(CLI::App& app, CommandAction& action);
void add_trace_command(CLI::App& app, CommandAction& action);
void add_bound_command(CLI::App& app, CommandAction& action);
void add_transfer_command(CLI::App& app, CommandAction& action);
void add_recommend_command(CLI::App& app, CommandAction& action);
void add_models_command(CLI::App& app, CommandAction& action);
void add_boot_command(CLI::App& app, CommandAction& action);
void add_calibrate_command(CLI::App& app, CommandAction& action);
void add_doctor_command(CLI::App& app, CommandAction& action);
void add_audit_command(CLI::App& app, CommandAction& action);
void add_conform_command(CLI::App& app, CommandAction& action);
void add_emit_command(CLI::App& app, CommandAction& action);
void add_init_command(CLI::App& app, CommandAction& action);
void add_import_command(CLI::App& app, CommandAction& action);
void add_completions_command(CLI::App& app, CommandAction& action);
void add_man_command(CLI::App& app, CommandAction& action);

}  // namespace hybridkv
