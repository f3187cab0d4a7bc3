// `hybridkv plot` from outside.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

/// A name in a folder of this test's own, which `plot` has to make, gone afterwards.
struct PlotFolder {
  ScratchFolder parent;
  fs::path path = parent.path / "plots";
  bool has(const std::string& name) const { return fs::exists(path / name) && fs::file_size(path / name) > 0; }
};

bool has_gnuplot() {
  static const bool found = std::system("gnuplot --version > /dev/null 2>&1") == 0;
  if (!found) std::printf("SKIPPED: gnuplot is not installed\n");
  return found;
}

}  // namespace

TEST_CASE("edge: plot without gnuplot writes data and scripts, says so and ends with exit code 4") {
  const PlotFolder folder;
  const ProgramRun run =
      run_program("plot qwen3.5-397b block-size concurrency -o " + folder.path.string(), "PATH=/nowhere");
  CAPTURE(run.output);
  CHECK(run.exit_code == 4);
  CHECK(contains(run.output, "gnuplot cannot be started"));
  CHECK(contains(run.output, "`gnuplot block-size.gp concurrency.gp` draws them"));
  for (const char* name : {"block-size.tsv", "block-size.gp", "concurrency.tsv", "concurrency.gp"})
    CHECK(folder.has(name));
  CHECK_FALSE(folder.has("block-size.svg"));
}

TEST_CASE("golden: plot writes data, script and picture of each kind and lists them") {
  if (!has_gnuplot()) return;
  const PlotFolder folder;
  const ProgramRun run = run_program("plot qwen3.5-397b request-bytes --pack 1,5 -o " + folder.path.string());
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  for (const char* name : {"request-bytes.tsv", "request-bytes.gp", "request-bytes.svg"}) {
    CHECK(folder.has(name));
    CHECK(contains(run.output, name));
  }
  CHECK_FALSE(folder.has("block-size.svg"));
}

TEST_CASE("edge: where no pack is given, those that divide the attention layers are compared") {
  const PlotFolder folder;
  const std::string model = "--model Falcon-H1-3B --memory 8GiB --max-model-len 4096 -o " + folder.path.string();
  run_program("plot block-size page-map " + model, "PATH=/nowhere");
  const std::string numbers = text_of(folder.path / "block-size.tsv");
  CAPTURE(numbers);
  CHECK(std::count(numbers.begin(), numbers.end(), '\n') == 1 + 6);  // 1, 2, 4, 8, 16 and 32 of 32 layers
  CHECK_FALSE(folder.has("page-map-n2.svg"));                        // of the plan asked for alone
  run_program("plot block-size --pack 1 --force " + model, "PATH=/nowhere");
  const std::string one = text_of(folder.path / "block-size.tsv");
  CHECK(std::count(one.begin(), one.end(), '\n') == 1 + 1);
}

TEST_CASE("regression: in the C locale of a bare machine gnuplot has nothing to warn of") {
  if (!has_gnuplot()) return;
  const PlotFolder folder;
  const ProgramRun run =
      run_program("plot qwen3.5-397b block-size -q -o " + folder.path.string(), "env -u LANG -u LC_CTYPE LC_ALL=C");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK_FALSE(contains(run.output, "warning"));
}

TEST_CASE("edge: the page map needs no gnuplot, and a kind may stand without a scenario") {
  const PlotFolder folder;
  const ProgramRun run = run_program(
      "plot page-map --model Qwen3.5-4B --memory 4GiB --max-model-len 4096 --pack 2 -o " + folder.path.string(),
      "PATH=/nowhere");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(folder.has("page-map-n2.svg"));
  CHECK(folder.has("page-map-n2.tsv"));
}

TEST_CASE("edge: a kind that a scenario cannot have is left out of all, and refused by name") {
  if (!has_gnuplot()) return;
  const PlotFolder folder;
  const std::string small =
      "--model Qwen3.5-4B --engine vllm-2026-06 --memory 4GiB --max-model-len 4096 --mode align "
      "--set engine.max_num_batched_tokens=256 -o " +
      folder.path.string();
  const ProgramRun all = run_program("plot " + small);
  CAPTURE(all.output);
  CHECK(all.exit_code == 0);
  CHECK(contains(all.output, "hit-rate is left out"));
  CHECK(folder.has("staircase.svg"));
  CHECK(run_program("plot hit-rate " + small).exit_code == 2);
}

TEST_CASE("golden: the page maps of the documentation are what the program draws") {
  const PlotFolder folder;
  REQUIRE(run_program("plot qwen3.5-397b page-map --pack 1,4,5 -o " + folder.path.string()).exit_code == 0);
  for (const char* name : {"page-map-n1.svg", "page-map-n4.svg", "page-map-n5.svg"}) {
    CAPTURE(name);
    CHECK(text_of(folder.path / name) == text_of(fs::path(HYBRIDKV_SOURCE_DIR) / "docs" / "plots" / name));
  }
}

TEST_CASE("edge: what plot refuses") {
  require_refused("plot qwen3.5-397b", "--output");
  require_refused("plot qwen3.5-397b pie-chart -o /tmp/never", "no such kind; take one of block-size");
  require_refused("plot qwen3.5-397b block-size -o /dev/null", "/dev/null");
  require_refused("plot qwen3.5-397b block-size -o /tmp/never --width 20", "--width");
  require_refused("plot qwen3.5-397b block-size -o /tmp/never --format gif", "gif");
}

TEST_CASE("edge: help of plot lists every kind") {
  const ProgramRun help = run_program("plot --help");
  CHECK(help.exit_code == 0);
  for (const char* word : {"Examples:", "block-size", "request-bytes", "concurrency", "staircase", "hit-rate",
                           "page-map", "blocks-in-use", "waterfall", "memory-curve"})
    CHECK(contains(help.output, word));
  // What several replicas take stands under a heading of its own, up to the next empty line.
  const std::size_t fleet = help.output.find("\n\nFleet:\n");
  REQUIRE(fleet != std::string::npos);
  const std::string flags = help.output.substr(fleet, help.output.find("\n\n", fleet + 1) - fleet);
  CHECK(contains(flags, "\n  --replicas R "));
  CHECK_FALSE(contains(flags, "--output"));
}

TEST_CASE("golden: a transfer is drawn where the other side is named, alone or beside other kinds") {
  const ScratchFolder folder;
  const std::string small = "plot --model Qwen3.5-0.8B --memory 1G --max-model-len 4k --mode align ";
  const std::string out = " -q -o " + (folder.path / "plots").string();
  const ProgramRun run = run_program(small + "transfer --to-set engine.tensor_parallel=2 --tokens 1k" + out);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "transfer.tsv"));
  CHECK(contains(text_of(folder.path / "plots" / "transfer.svg"), "1,024 tokens from 1 rank to 2 ranks"));
  const ProgramRun both = run_program(small + "page-map transfer --force --to-set engine.tensor_parallel=2" + out);
  CHECK(contains(both.output, "page-map-n1.svg"));
  CHECK(contains(both.output, "transfer.svg"));
  require_refused(small + "transfer" + out, "plot transfer: shows two sides; say what differs");
  require_refused(small + "page-map --to-set engine.tensor_parallel=2" + out, "--to-set belongs to the plot transfer");
  require_refused(small + "page-map --tokens 5" + out, "--tokens belongs to the plot transfer");
  require_refused(small + "transfer --engines all --to-set engine.tensor_parallel=2" + out, "leave out --engines");
  require_refused(small + "page-map transfers --to-set engine.tensor_parallel=2" + out, "did you mean 'transfer'");
}
