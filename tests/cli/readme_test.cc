// Every command that the README and docs/commands.md show works as it stands there, from the folder of the checkout.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

/// What stands in the one block of a document that names no language, cut where a line says that something is left out.
std::vector<std::string> shown_pieces(std::istream& document) {
  std::vector<std::string> pieces;
  bool inside = false, shown = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      shown = inside && line == "```";
      if (shown) pieces.emplace_back();
    } else if (shown && line == "…") {
      pieces.emplace_back();
    } else if (shown) {
      pieces.back() += line + "\n";
    }
  }
  return pieces;
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool instrumented = true;
#else
constexpr bool instrumented = false;
#endif

/// A minute of processor time, and run by tests/cli/forward_test.cc; or an engine that is installed, in whose place
/// tests/cli/conform_test.cc has its record.
bool has_its_own_test(const std::string& command) {
  return command == "verify --forward --all-models --engine vllm-2026-06" || command.starts_with("conform ");
}

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

TEST_CASE("golden: the commands of the README print what it shows of demo.sh") {
  std::ifstream script(HYBRIDKV_SOURCE_DIR "/demo.sh"), document(HYBRIDKV_SOURCE_DIR "/README.md");
  const std::string program = "build/release/hybridkv ";
  std::string output;
  for (std::string line; std::getline(script, line);)
    if (line.starts_with(program)) output += run_program(line.substr(program.size())).output;
  const std::vector<std::string> pieces = shown_pieces(document);
  CHECK(pieces.size() == 2);
  std::size_t begin = 0;
  for (const std::string& piece : pieces) {
    CAPTURE(piece);
    begin = output.find(piece, begin);
    REQUIRE(begin != std::string::npos);
    begin += piece.size();
  }
}

TEST_CASE("golden: the commands of the README and its list work as they stand there") {
  std::vector<std::string> commands = commands_of("docs/commands.md");
  CHECK(commands.size() >= 20);
  CHECK(commands_of("README.md").empty());  // they are shown with what they print: docs_test.cc
  std::erase_if(commands, needs_gnuplot);
  run_all(commands);
}

TEST_CASE("golden: the commands of the README and its list that draw work as they stand there") {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0)
    return void(std::printf("SKIPPED: gnuplot is not installed\n"));
  if (instrumented) return void(std::printf("SKIPPED: run without sanitizers, which would take minutes\n"));
  std::vector<std::string> commands = commands_of("docs/commands.md");
  std::erase_if(commands, [](const std::string& command) { return !needs_gnuplot(command); });
  CHECK(commands.size() >= 2);
  run_all(commands);
}

TEST_CASE("law: the list of commands has every command of the program") {
  const std::string page = text_of(fs::path(HYBRIDKV_SOURCE_DIR) / "docs/commands.md");
  std::istringstream candidates(run_program("completions candidates ''").output);
  std::size_t count = 0;
  for (std::string line; std::getline(candidates, line);) {
    const std::string name = line.substr(0, line.find('\t'));
    CAPTURE(name);
    ++count;
    CHECK(contains(page, "hybridkv " + name));
  }
  CHECK(count >= 20);
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

TEST_CASE("fault: what a document shows of an output is what stands between the lines that say what is left out") {
  std::istringstream document("```sh\nno\n```\nno\n```\na\nb\n…\nc\n```\nno\n```console\nno\n```\n");
  CHECK(shown_pieces(document) == std::vector<std::string>{"a\nb\n", "c\n"});
}
