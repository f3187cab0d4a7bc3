// Traces as users give them to every command: standard input, pipes, folders, nothing at all, and little memory.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "test_paths.h"
#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::run_shell;
using testing::ScratchFolder;
using nlohmann::json;

namespace {

const std::string piped = "'" HYBRIDKV_TEST_DATA "/simulator/invented/mooncake.jsonl'";

/// Every command that replays, once for each way in which it is told the trace.
const std::string replays[] = {"simulate qwen3.5-397b --pack 1,3 -q --trace ",
                               "sweep qwen3.5-397b --pack 1,3 -q --simulate --trace ",
                               "recommend qwen3.5-397b --packs 1,3 --modes align -q --trace "};

/// What a command prints without the line that names the trace, and without the commands that repeat it.
std::string figures(std::string output) {
  for (const std::string name : {"mooncake.jsonl", "standard input", "pipe"})
    for (std::size_t at = output.find(name); at != std::string::npos; at = output.find(name))
      output.erase(output.rfind('\n', at) + 1, output.find('\n', at) - output.rfind('\n', at));
  return output.substr(0, output.find("The same numbers again"));
}

}  // namespace

TEST_CASE("regression: standard input and a pipe give what the file gives, in every command that replays") {
  const ScratchFolder scratch;
  const std::string pipe = (scratch.path / "pipe").string();
  for (const std::string& command : replays) {
    CAPTURE(command);
    const ProgramRun file = run_program(command + piped);
    REQUIRE(file.exit_code == 0);
    const std::string stdin_options = command + "- <" + piped;
    const ProgramRun input = run_program(stdin_options);
    CHECK(input.exit_code == 0);
    const std::string start = "rm -f '" + pipe + "'; mkfifo '" + pipe + "'; (cat " + piped + " >'" + pipe + "' &);";
    const ProgramRun piped = run_program("--version >&2 2>/dev/null; " + start + " '" HYBRIDKV_PROGRAM "' " + command +
                                         "'" + pipe + "'");
    CHECK(piped.exit_code == 0);
    if (command.starts_with("sweep")) {
      // The sweep's id stands for the scenario, path included; the rows behind it are the same.
      const auto rows = [](const std::string& text) { return text.substr(text.find("\"points\"")); };
      CHECK(json::parse(input.output.substr(0, input.output.find('\n'))).at("hit_tokens") ==
            json::parse(file.output.substr(0, file.output.find('\n'))).at("hit_tokens"));
      CHECK(rows(file.output).size() == rows(input.output).size());
    } else {
      CHECK(figures(input.output) == figures(file.output));
    }
    CHECK(contains(piped.output, command.starts_with("sweep") ? "\"requests\":11" : "11 requests"));
  }
}

TEST_CASE("regression: one stream as the scenario or model and as the trace is refused by every command") {
  const ScratchFolder scratch;
  const std::string yaml = scratch.file("s.yaml", "model: Qwen3.5-4B\nengine: {memory: 4GiB, attention_pack_size: 1}\n"
                                                  "limits: {max_model_len: 4096}\nsimulate: {trace: {file: \"-\"}}\n");
  const std::string both = "standard input is given both as the scenario or model and as the trace";
  const std::string flags = " --memory 4GiB --max-model-len 4096 -q <";
  const std::string config = HYBRIDKV_SOURCE_DIR "/docs/samples/sample-hybrid/config.json";
  for (const std::string command : {"simulate ", "recommend ", "sweep --simulate "}) {
    CAPTURE(command);
    require_refused(command + "- --trace -" + flags + yaml, 2, both);
    require_refused(command + "--model - --trace -" + flags + config, 2, both);
    require_refused(command + "- -q <" + yaml, 2, both);
  }
  const ProgramRun piped = run_shell("cd '" + scratch.path.string() + "' && mkfifo pipe && (cat s.yaml >pipe &) && " +
                                     "timeout 20 \"$HYBRIDKV\" simulate pipe --trace pipe");
  CHECK(piped.exit_code == 2);
  CHECK(contains(piped.output, "is given both as the scenario or model and as the trace"));
}

TEST_CASE("regression: a trace without a request, a folder and a missing file are refused by every command alike") {
  const ScratchFolder scratch;
  const std::string empty = scratch.file("empty.jsonl", ""), folder = scratch.path.string();
  std::vector<std::string> commands(std::begin(replays), std::end(replays));
  commands.push_back("plot qwen3.5-397b hit-rate -q -o '" + folder + "/plots' --set simulate.trace.file=");
  for (const std::string& command : commands) {
    require_refused(command + empty, 2, "empty.jsonl: the trace holds no request");
    require_refused(command + folder, 2, "it is a directory");
    require_refused(command + folder + "/none", 2, "none: No such file or directory");
  }
  require_refused(replays[0] + "- <&-", 2, "cannot read standard input");
}

TEST_CASE("regression: little memory is exit code 3, never a damaged line or a crash") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("SKIPPED: sanitizers take more address space than the test leaves");
#else
  const ScratchFolder scratch;
  std::string line = R"({"timestamp": 1, "input_length": 512000000, "output_length": 1, "hash_ids": [1)";
  for (int i = 1; i < 1'000'000; ++i) line += ",100000001";
  const std::string good = R"({"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]})";
  const std::string path = scratch.file("long.jsonl", good + "\n" + line + "]}\n" + good + "\n");
  int too_little = 0, enough = 0;
  for (int megabytes = 60; megabytes <= 360; megabytes += 20) {
    const ProgramRun run = run_program("simulate --block-size 512 --num-blocks 100 --skip-bad-lines -q --trace " + path,
                                       "ulimit -v " + std::to_string(megabytes * 1024) + ";");
    CAPTURE(megabytes);
    CAPTURE(run.output);
    CHECK((run.exit_code == 0 || run.exit_code == 3));
    CHECK_FALSE(contains(run.output, "damaged"));
    too_little += contains(run.output, "long.jsonl:2: the line has") && run.exit_code == 3;
    enough += run.exit_code == 0;
  }
  CHECK(too_little > 0);
  CHECK(enough > 0);
#endif
}

TEST_CASE("regression: prompts longer than max_model_len are refused, counted and said by every command alike") {
  const std::string scenario = "qwen3.5-397b --max-model-len 2048 -q ";
  const auto parsed = [](const std::string& arguments) {
    const ProgramRun run = run_program(arguments);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    return json::parse(run.output);
  };
  const std::string said = "refused, as the engine refuses them";
  const json cache = parsed("simulate " + scenario + "--pack 3 --format json --trace " + piped).at("caches")[0];
  CHECK(cache.at("max_model_len") == 2048);
  CHECK(cache.at("too_long") == 3);
  const json row = parsed("sweep " + scenario + "--pack 3 --simulate --trace " + piped);
  const json found = parsed("recommend " + scenario + "--packs 3 --modes align --match-units block --retention all "
                            "--block-sizes 0 --format json --trace " + piped);
  const json& pick = found.at("candidates")[found.at("pick").get<std::size_t>()];
  for (const char* field : {"hit_tokens", "prompt_tokens", "too_long"}) CHECK(row.at(field) == cache.at(field));
  CHECK(pick.at("hit_tokens") == cache.at("hit_tokens"));
  CHECK(found.at("workload").at("prompt_tokens") == cache.at("prompt_tokens"));
  CHECK(found.at("workload").at("too_long_requests") == 3);
  for (const char* command : {"simulate ", "recommend "})
    CHECK(contains(run_program(command + scenario + "--pack 3 --trace " + piped).output,
                   "3 of 11 requests have prompts"));
}

TEST_CASE("regression: several packs and several lengths make a row each") {
  const ProgramRun run =
      run_program("simulate qwen3.5-397b --pack 1,3 --max-model-len 1024,4096 -q --format csv --trace " + piped);
  for (const char* name :
       {"\"N = 1, L = 1,024\"", "\"N = 1, L = 4,096\"", "\"N = 3, L = 1,024\"", "\"N = 3, L = 4,096\""})
    CHECK(contains(run.output, name));
}

TEST_CASE("regression: simple traffic of many different prompts, and lists with an empty item") {
  const ProgramRun run =
      run_program("simulate qwen3.5-397b --pack 8 --prompt-tokens 370 --shared-prefix-tokens 300 --requests 30000 -q");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "30,000 requests, 11,100,000 prompt tokens"));
  require_refused("simulate qwen3.5-397b --prompt-tokens 2000000000", 2, "must be 1 to 1073741824, is 2000000000");
  require_refused("simulate --block-size 272,,528 --num-blocks 9", 2,
                  "--block-size: value 2 of the list '272,,528' is empty");
  require_refused("simulate --block-size 272, --num-blocks 9", 2, "--block-size: value 2 of the list '272,' is empty");
  require_refused("recommend qwen3.5-397b --match-units 16,,32", 2,
                  "--match-units: value 2 of the list '16,,32' is empty");
  require_refused("recommend qwen3.5-397b --give-up nan", 2, "--give-up nan: is a share");
  require_refused("recommend qwen3.5-397b --min-concurrency inf", 2, "--min-concurrency inf: must be a number");
  require_refused("recommend qwen3.5-397b --packs 99", 2, "has 15 attention layers to pack; take 1 to 15");
  require_refused("recommend qwen3.5-397b --set simulate.watermark=2", 2,
                  "--set simulate.watermark=2: simulate.watermark:");
}

TEST_CASE("regression: a cache that hits nothing says why, in simulate as in recommend") {
  const std::string why = "of 2,096 tokens can never hit on this trace: its longest prompt has 370 tokens";
  CHECK(contains(run_program("simulate qwen3.5-397b --pack 1,8 --prompt-tokens 370 -q --format markdown").output,
                 "N = 1: the block " + why));
  const std::string text =
      run_program("recommend qwen3.5-397b --packs 1 --modes align --match-units 16,32 --prompt-tokens 370 -q "
                  "--format markdown").output;
  CHECK(contains(text, "The default block " + why));
  CHECK_FALSE(contains(text, "Nothing in the space hits either"));
}
