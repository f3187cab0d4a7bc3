#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/sweep_file.h"
#include "layout/error.h"
#include "report/human.h"

namespace hybridkv {

namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool quiet = false;
};

/// A file that is there as a whole or not at all: written under another name first.
class WholeFile {
 public:
  explicit WholeFile(std::string path)
      : path_(std::move(path)), unfinished_(path_ + ".part"), stream_(unfinished_, std::ios::binary | std::ios::trunc) {
    if (!stream_) throw InputError(fmt::format("-o {}: cannot be written; is there such a folder?", path_));
  }
  ~WholeFile() {
    std::error_code ignored;
    if (!finished_) std::filesystem::remove(unfinished_, ignored);
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void append(std::string_view text) { stream_ << text; }
  void finish() {
    stream_.close();
    std::error_code error;
    if (stream_) std::filesystem::rename(unfinished_, path_, error);
    if (!stream_ || error) throw ResourceError(fmt::format("-o {}: cannot be written", path_));
    finished_ = true;
  }

 private:
  std::string path_;
  std::string unfinished_;
  std::ofstream stream_;
  bool finished_ = false;
};

int run_merge(const MergeOptions& options) {
  PointCounts counts;
  if (options.output.empty()) {
    counts = merge_rows(options.files, [](std::string_view text) { write_output(std::string(text)); });
  } else {
    WholeFile file(options.output);
    counts = merge_rows(options.files, [&](std::string_view text) { file.append(text); });
    file.finish();
  }
  if (!options.quiet)
    fmt::print(stderr, "hybridkv: {}, {}\n", human_plural(std::ssize(options.files), "file"), to_string(counts));
  return counts.fault > 0 ? exit_fault_found : exit_fine;
}

}  // namespace

void add_merge_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "merge", "Put the files of all shards of a sweep together: the bytes that one run would have written");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("FILES", options->files, "files that `hybridkv sweep --shard` wrote, in any order")
      ->required()
      ->type_name("");
  command->add_option("--output,-o", options->output, "file for the rows (default: standard output)")->type_name("FILE");
  command->add_flag("--quiet,-q", options->quiet, "no summary on standard error");
  command->footer(
      "Refused: files of different sweeps, a torn last line, a point that two files\n"
      "hold or that is missing.\n"
      "\nExamples:\n"
      "  hybridkv merge rows-*.jsonl -o rows.jsonl");
  command->callback([options, &action] { action = [options] { return run_merge(*options); }; });
}

}  // namespace hybridkv
