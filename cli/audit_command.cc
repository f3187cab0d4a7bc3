#include <fmt/format.h>

#include <memory>
#include <string>

#include "ask/audit.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/audit_report.h"

namespace hybridkv {

namespace {

struct AuditOptions {
  std::string recording;
  OutputOptions output;
};

int run_audit(const AuditOptions& options) {
  Progress progress(options.output.quiet);
  const AuditAnswer answer = audit_cache(options.recording, [&](std::int64_t lines, int percent) {
    progress.update("audit", fmt::format("per cent of the recording, {} lines", lines), percent, 100);
  });
  write_output(render_audit(answer, options.output.format(), options.output.style()));
  return answer.is_right() ? exit_fine : exit_fault_found;
}

}  // namespace

void add_audit_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "audit", "Replay the recording of a running cache: is every byte that a request reads its own?");
  const auto options = std::make_shared<AuditOptions>();
  command
      ->add_option("RECORDING", options->recording,
                   "recording of an engine or of simulate --record, plain or compressed, or - for standard input")
      ->type_name("")
      ->required();
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  hybridkv audit run.jsonl\n"
      "  hybridkv audit run.jsonl --format json\n"
      "  zcat run.jsonl.gz | hybridkv audit -\n"
      "\n"
      "A recording to try: hybridkv simulate qwen3.5-397b --pack 1 --record run.jsonl.\n"
      "The exit code is 1 where something is wrong, with the request, the layer and\n"
      "the step of each finding. docs/audit.md says how an engine is recorded, what is\n"
      "checked, and what a recording is made of.");
  command->callback([options, &action] { action = [options] { return run_audit(*options); }; });
}

}  // namespace hybridkv
