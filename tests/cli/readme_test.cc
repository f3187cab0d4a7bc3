// Every command that a README shows works as it stands there, from the folder of the checkout.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "test_paths.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

/// The arguments of each `hybridkv …` in the shell blocks of a document, without the remark behind it.
std::vector<std::string> commands_of(std::istream& document) {
  std::vector<std::string> commands;
  bool inside = false;
  const std::string program = "hybridkv ";
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) inside = line == "```sh";
    if (!inside || !line.starts_with(program)) continue;
    line = line.substr(program.size(), line.find(" #") - program.size());
    commands.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return commands;
}

std::vector<std::string> commands_of(const std::string& path) {
  std::ifstream document(fs::path(HYBRIDKV_SOURCE_DIR) / path);
  return commands_of(document);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool instrumented = true;
#else
constexpr bool instrumented = false;
#endif

/// A minute of processor time, and run by tests/cli/forward_test.cc.
bool has_its_own_test(const std::string& command) { return command == "verify --forward --all-models"; }

/// What proves and measures takes ten times as long with sanitizers, and has tests of its own that are made for them.
bool is_too_slow(const std::string& command) {
  const auto begins = [&](const char* word) { return command.starts_with(word); };
  return instrumented && (begins("verify ") || begins("attend ") || begins("bench ") || begins("recommend "));
}

/// Runs the commands one after the other where `docs` is that of the checkout and everything else is new.
void run_all(const std::vector<std::string>& commands) {
  const ScratchFolder folder;
  fs::create_directory_symlink(fs::path(HYBRIDKV_SOURCE_DIR) / "docs", folder.path / "docs");
  for (const std::string& command : commands) {
    if (has_its_own_test(command) || is_too_slow(command)) continue;
    CAPTURE(command);
    const ProgramRun run = run_program(command, "cd '" + folder.path.string() + "' && ");
    CAPTURE(run.output);
    CHECK(run.exit_code == 0);
  }
}

bool needs_gnuplot(const std::string& command) {
  return command.starts_with("plot ") || command.starts_with("report ");
}

}  // namespace

TEST_CASE("golden: the commands of the README work as they stand there") {
  std::vector<std::string> commands = commands_of("README.md");
  CHECK(commands.size() >= 15);
  std::erase_if(commands, needs_gnuplot);
  run_all(commands);
}

TEST_CASE("golden: the commands of the README that draw work as they stand there") {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0)
    return void(std::printf("SKIPPED: gnuplot is not installed\n"));
  if (instrumented) return void(std::printf("SKIPPED: run without sanitizers, which would take minutes\n"));
  std::vector<std::string> commands = commands_of("README.md");
  std::erase_if(commands, [](const std::string& command) { return !needs_gnuplot(command); });
  CHECK(commands.size() >= 2);
  run_all(commands);
}

TEST_CASE("golden: the README's table of strategies is what the program plans") {
  std::ifstream document(fs::path(HYBRIDKV_SOURCE_DIR) / "README.md");
  std::size_t rows = 0;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("| `packed_attention`") && !line.starts_with("| `dual_pool`") &&
        !line.starts_with("| `small_pages`"))
      continue;
    ++rows;
    const std::string strategy = line.substr(3, line.find('`', 3) - 3);
    const ProgramRun run = run_program(
        "plan qwen3.5-397b --pack 1 --mode align --memory 40G --max-model-len 32k --format json "
        "--set engine.strategy=" +
        strategy);
    REQUIRE(run.exit_code == 0);
    const auto plan = nlohmann::json::parse(run.output)["plans"][0];
    std::int64_t block = 0, grid = 0;
    for (const auto& spec : plan["specs"]) (spec.contains("state") ? grid : block) = spec["block_size_tokens"];
    const auto& capacity = plan["capacity"][0];
    const std::string wanted =
        fmt::format("| {} | {} | {} | {:.2f} | {} |", hybridkv::human_count(block), hybridkv::human_count(grid),
                    hybridkv::human_bytes(capacity["bytes_per_request"]), capacity["usable_concurrency"].get<double>(),
                    hybridkv::human_count(plan["prefix"]["min_cacheable_prefix_tokens"]));
    CAPTURE(wanted);
    CHECK(line.ends_with(wanted));
  }
  CHECK(rows == 3);
}

TEST_CASE("golden: the commands of the samples work as they stand there") {
  const std::vector<std::string> commands = commands_of("docs/samples/README.md");
  CHECK(commands.size() >= 3);
  run_all(commands);
}

TEST_CASE("fault: a command of a document that does not work is found") {
  std::istringstream document("```sh\nhybridkv plan nothing-of-the-kind   # never\n```\n\n```\nhybridkv unseen\n```\n");
  const std::vector<std::string> commands = commands_of(document);
  REQUIRE(commands == std::vector<std::string>{"plan nothing-of-the-kind"});
  CHECK(run_program(commands.front()).exit_code == 2);
}
