#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "report/human.h"
#include "report/replay/sweep_file.h"

namespace hybridkv {

namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool quiet = false;
  Overwrite overwrite = Overwrite::no;
};

int run_merge(const MergeOptions& options) {
  if (std::count(options.files.begin(), options.files.end(), "-") > 1)
    throw InputError("-: standard input can be read once; name it once");
  PointCounts counts;
  if (options.output.empty() || options.output == "-") {
    counts = merge_rows(options.files, [](std::string_view text) { write_output_piece(text); });
  } else {
    refuse_overwriting(options.output, {options.overwrite, options.files});
    OutputFile file(options.output);
    counts = merge_rows(options.files, [&](std::string_view text) { file.append(text); });
    file.finish();
  }
  if (!options.quiet)
    write_message(fmt::format("hybridkv: {}, {}", human_plural(std::ssize(options.files), "file"), to_string(counts)));
  return counts.fault > 0 ? exit_fault_found : exit_fine;
}

}  // namespace

void add_merge_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "merge", "Put the files of all shards of a sweep together: the bytes that one run would have written");
  const auto options = std::make_shared<MergeOptions>();
  command
      ->add_option("FILES", options->files,
                   "files that `hybridkv sweep --shard` wrote, in any order; - is standard input")
      ->required()
      ->type_name("");
  command->add_option("--output,-o", options->output, "file for the rows (default: standard output)")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  command->add_flag("--quiet,-q", options->quiet, "no summary on standard error");
  command->footer(
      "Refused: files of different sweeps, a torn last line, a point that two files\n"
      "hold or that is missing.\n"
      "\nExamples:\n"
      "  hybridkv merge rows-*.jsonl -o rows.jsonl");
  command->callback([options, &action] { action = [options] { return run_merge(*options); }; });
}

}  // namespace hybridkv
