// The command `trace`, and traces of every form in the commands that replay.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "test_paths.h"
#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::run_shell;
using nlohmann::json;

namespace {

const std::string forms[] = {"blocks", "tokens", "lookups", "agentic", "agentic_v2"};

std::string file_of(const std::string& form) {
  return "'" HYBRIDKV_TEST_DATA "/simulator/traces/" + form + ".jsonl'";
}

}  // namespace

TEST_CASE("golden: trace says what is in a file of each form, as JSON and from standard input alike") {
  const std::int64_t requests[] = {4, 3, 4, 7, 4};
  const std::int64_t prompt_tokens[] = {40, 77, 1924, 862, 512};
  for (std::size_t i = 0; i < std::size(forms); ++i) {
    CAPTURE(forms[i]);
    const ProgramRun run = run_program("trace " + file_of(forms[i]) + " --format json");
    REQUIRE(run.exit_code == 0);
    json told = json::parse(run.output);
    CHECK(told.at("schema") == "hybridkv-trace/1");
    CHECK(told.at("form") == forms[i]);
    CHECK(told.at("requests") == requests[i]);
    CHECK(told.at("prompt_tokens") == prompt_tokens[i]);
    json piped = json::parse(run_program("trace - --format json <" + file_of(forms[i])).output);
    told.erase("trace");
    piped.erase("trace");
    CHECK(piped == told);
  }
}

TEST_CASE("golden: with a model distances are bytes too") {
  const json told = json::parse(run_program("trace " + file_of("agentic") + " qwen3.5-397b --format json").output);
  // K and V of 15 layers with full attention, a head of 256 on each of two ranks, in 2 bytes.
  CHECK(told.at("token_bytes") == 15 * 2 * 256 * 2);
  for (const json& row : told.at("reuse")) CHECK(row.at("bytes") == row.at("tokens").get<std::int64_t>() * 15360);
  CHECK(contains(run_program("trace " + file_of("agentic") + " qwen3.5-397b").output, "of K and V"));
}

TEST_CASE("golden: every form is replayed by the commands that take a trace") {
  for (const std::string& form : forms) {
    CAPTURE(form);
    for (const std::string command : {"simulate --block-size 16 --num-blocks 200 -q --trace ",
                                      "bound qwen3.5-397b --pack 5 -q --trace ",
                                      "compare qwen3.5-397b --pack 1,5 -q --trace "}) {
      const ProgramRun run = run_program(command + file_of(form));
      CAPTURE(command);
      CAPTURE(run.output);
      CHECK(run.exit_code == 0);
    }
  }
  const ProgramRun open = run_program("simulate --block-size 16 --num-blocks 200 -q --driver open-loop --trace " +
                                      file_of("agentic_v2"));
  CAPTURE(open.output);
  CHECK(open.exit_code == 0);
}

TEST_CASE("edge: trace refuses what it cannot read, in one message") {
  require_refused("trace", "FILE");
  require_refused("trace /nowhere/trace.jsonl", "/nowhere/trace.jsonl");
  require_refused("trace " + file_of("blocks") + " --trace-form agentc", "agentic");
  require_refused("trace " + file_of("blocks") + " --trace-form tokens", ":1: input_tokens is missing or no list");
  require_refused("trace " + file_of("blocks") + " --memory 40G", "--memory belongs to a model");
}
