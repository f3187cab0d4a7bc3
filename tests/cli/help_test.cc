// The help of every command: its width, and its examples as a user would type them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> commands{
    "plan", "explain", "whose", "compare", "verify", "attend", "bench", "plot", "report", "simulate", "sweep", "merge",
    "trace", "bound", "transfer", "recommend", "boot", "calibrate", "doctor", "audit", "conform", "emit", "models",
    "init", "import", "completions", "man"};

/// All commands, as the program lists them.
std::vector<std::string> listed_commands() {
  std::vector<std::string> listed;
  const std::string help = run_program("help").output;
  const std::size_t begin = help.find("Commands:\n"), end = help.find("\nFlags:\n");
  if (begin > end || end == help.npos) return listed;
  std::istringstream lines(help.substr(begin, end - begin));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && !line.starts_with("   ")) listed.push_back(line.substr(2, line.find(' ', 2) - 2));
  return listed;
}

/// Commands of a help's lines that begin with "  hybridkv ", without that word; a backslash joins lines, and what other
/// programs do with the output is left out.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream lines(help);
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string start = "  hybridkv ";
    if (goes_on) examples.back() += line;
    else if (line.starts_with(start)) examples.push_back(line.substr(start.size()));
    else continue;
    goes_on = line.ends_with("\\");
    if (goes_on) examples.back().pop_back();
  }
  for (std::string& example : examples) example.erase(std::min(example.find('|'), example.size()));
  return examples;
}

/// A folder with the files that the examples name.
void add_files(const ScratchFolder& scratch) {
  const fs::path samples = fs::path(HYBRIDKV_SOURCE_DIR) / "docs" / "samples";
  fs::copy_file(samples / "sample-hybrid" / "config.json", scratch.path / "config.json");
  fs::copy_file(samples / "trace.jsonl", scratch.path / "trace.jsonl");
  fs::copy(fs::path(HYBRIDKV_TEST_DATA) / "attention" / "vllm_mixed_small", scratch.path / "case");
  fs::copy_file(samples / "server.txt", scratch.path / "server.log");
  fs::copy_file(samples / "recording.jsonl", scratch.path / "run.jsonl");
  fs::copy_file(samples / "kernel-card.json", scratch.path / "mine.card.json");
  const fs::path clock = fs::path(HYBRIDKV_TEST_DATA) / "clock";
  for (const auto& [file, name] : {std::pair{"bench_short.json", "short.json"}, {"bench_long.json", "long.json"},
                                   {"measured.csv", "measured.csv"}, {"models.csv", "models.csv"},
                                   {"forward.json", "forward.json"}, {"decoding.txt", "decoding.log"}})
    fs::copy_file(clock / file, scratch.path / name);
  fs::create_directory(scratch.path / "results");
  for (const auto& [name, ranks] : {std::pair{"prefill.yaml", "1"}, {"decode.yaml", "2"}})
    scratch.file(name, std::string("model: Qwen3.5-4B\nengine: {memory: 40G, tensor_parallel: ") + ranks +
                           "}\nlimits: {max_model_len: 32k}\n");
  scratch.file("my.yaml", "model: Qwen3.5-4B\n"
                          "engine: {memory: 40G, tensor_parallel: [1, 2]}\nlimits: {max_model_len: 32k}\n");
}

/// True where the example is run to its end in far less than a second; others are parsed, values included, by asking
/// for their help.
bool is_cheap(const std::string& command, const std::string& example) {
  const std::vector<std::string> dear{"verify", "bench", "plot", "report", "recommend", "conform"};
  return std::find(dear.begin(), dear.end(), command) == dear.end() && !contains(example, "--verify");
}

ProgramRun run_example(const ScratchFolder& scratch, const std::string& command, std::string example) {
  if (command == "simulate") example += " --requests 20";
  if (!is_cheap(command, example)) example += " --help";
  return run_program(example, "cd '" + scratch.path.string() + "' &&");
}

}  // namespace

TEST_CASE("edge: every help is at most 80 columns wide, the same behind help and --help") {
  CHECK(listed_commands() == commands);
  for (const std::string& command : commands) {
    CAPTURE(command);
    const ProgramRun help = run_program("help " + command);
    CHECK(help.exit_code == 0);
    CHECK(help.output == run_program(command + " --help").output);
    CHECK(help.output == run_program(command + " -h").output);
    CHECK(contains(help.output, "\nExamples:\n  hybridkv " + command));
    std::istringstream lines(help.output);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  }
  const ProgramRun all = run_program("help");
  CHECK(all.exit_code == 0);
  CHECK(all.output == run_program("--help").output);
  std::istringstream lines(all.output);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("golden: the examples of every help run") {
  for (const std::string& command : commands) {
    const ScratchFolder scratch;
    add_files(scratch);
    if (command == "merge")
      for (const char* shard : {"1/2", "2/2"})
        run_program(std::string("sweep my.yaml --shard ") + shard + " -o rows-" + shard[0] + ".jsonl",
                    "cd '" + scratch.path.string() + "' &&");
    else if (command == "plan" || command == "explain" || command == "whose")  // one question, no sweep
      scratch.file("my.yaml", "model: Qwen3.5-4B\nengine: {memory: 40G}\nlimits: {max_model_len: 32k}\n");
    const std::vector<std::string> examples = examples_of(run_program(command + " --help").output);
    CHECK(!examples.empty());
    for (const std::string& example : examples) {
      CAPTURE(example);
      const ProgramRun run = run_example(scratch, command, example);
      CAPTURE(run.output);
      // The sample config is of another model than the log, whose figures it cannot have.
      const bool cannot_be = command == "doctor" && contains(example, "--model config.json");
      CHECK(run.exit_code == (cannot_be ? 1 : 0));
    }
  }
}

TEST_CASE("fault: an example that does not run is found, and one that is only parsed too") {
  const ScratchFolder scratch;
  CHECK(run_example(scratch, "plan", "plan missing.yaml").exit_code == 2);
  CHECK(run_example(scratch, "verify", "verify --forwards --all-models").exit_code == 2);
  CHECK(run_example(scratch, "bench", "bench --batch q2k --threads two").exit_code == 2);
  CHECK(examples_of("Examples:\n  hybridkv plan a \\\n      --pack 1 | jq\n") ==
        std::vector<std::string>{"plan a       --pack 1 "});
}

