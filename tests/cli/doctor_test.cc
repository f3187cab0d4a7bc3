// `hybridkv doctor`: files, standard input, what is no log, and what programs get.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;

namespace {

const std::string logs = HYBRIDKV_TEST_DATA "/doctor/";

}  // namespace

TEST_CASE("golden: doctor on a pipe says the same as on a file, in every format") {
  for (const char* format : {"table", "markdown", "csv", "json"}) {
    const std::string flags = std::string(" --format ") + format;
    const ProgramRun file = run_program("doctor " + logs + "vllm-0.33-sm90.txt" + flags);
    CHECK(file.exit_code == 0);
    CHECK(run_program("doctor -" + flags + " < " + logs + "vllm-0.33-sm90.txt").output == file.output);
    CHECK(run_shell("cat " + logs + "vllm-0.33-sm90.txt | \"$HYBRIDKV\" doctor -" + flags).output == file.output);
  }
}

TEST_CASE("golden: in every format doctor exits with 1 where a figure cannot be, which is named") {
  // Of the other model blocks have 576 tokens, not the 2,112 of the log.
  const std::string contradicted = "doctor " + logs + "vllm-0.33-sm90.txt --model Qwen3.5-4B --format ";
  for (const auto& [format, named] :
       {std::pair{"table", "! block_size 2112 cannot be"}, {"markdown", "block_size 2112 cannot be"},
        {"csv", "block_size,8,2112,576,false\n"},
        {"json", R"("name": "block_size", "printed": 2112, "planned": 576, "explained": false)"}}) {
    const ProgramRun run = run_program(contradicted + format);
    CAPTURE(format);
    CAPTURE(run.output);
    CHECK(run.exit_code == 1);
    CHECK(contains(run.output, named));
  }
}

TEST_CASE("golden: the JSON of doctor") {
  const ProgramRun run = run_program("doctor " + logs + "vllm-0.33-sm90.txt --format json");
  const nlohmann::json json = nlohmann::json::parse(run.output);
  CHECK(json["schema"] == "hybridkv-doctor/1");
  CHECK(json["found"]["version"] == "0.33.0");
  CHECK(json["found"]["block_size"] == 2112);
  CHECK(json["found"]["padding_percent"] == 1.34);
  CHECK(json["found"]["kv_cache_tokens"] == 1734082);
  CHECK(json["explained"]["release"] == "vllm-0.33");
  CHECK(json["explained"]["backend_profile"] == "sm90");
  CHECK(json["explained"]["all_figures"] == true);
  CHECK(json["explained"]["num_blocks"] == 1323);
  CHECK(json["explained"]["settings"]["cache_mode"] == "align");
  CHECK(json["explained"]["figures"][0] ==
        nlohmann::json({{"name", "block_size"}, {"printed", 2112}, {"planned", 2112}, {"explained", true}}));
  CHECK(json["contradictions"].empty());
  REQUIRE_FALSE(json["try"].empty());
}

TEST_CASE("law: every command that doctor says to try is one, and holds what it promises") {
  const ProgramRun run = run_program("doctor " + logs + "vllm-0.33-sm90.txt --format json");
  const nlohmann::json json = nlohmann::json::parse(run.output);
  for (const nlohmann::json& one : json["try"]) {
    const std::string command = one["command"].get<std::string>();
    REQUIRE(command.starts_with("hybridkv "));
    CAPTURE(command);
    const ProgramRun plan = run_program(command.substr(std::string("hybridkv ").size()) + " --format json");
    CHECK(plan.exit_code == 0);
    const nlohmann::json planned = nlohmann::json::parse(plan.output);
    CHECK(planned["plans"][0]["capacity"][0]["max_concurrency"] == one["max_concurrency"]);
  }
}

TEST_CASE("edge: what is no log is refused with what to give") {
  const ScratchFolder scratch;
  scratch.file("empty.log", "");
  scratch.file("junk.log", std::string("\0\x01\xff\xfe\x1b[31m\0Setting", 15) + std::string(300'000, '\xe2'));
  const std::string folder = scratch.path.string() + "/";
  require_refused("doctor " + folder + "empty.log", "empty.log is empty; a start-up log of vLLM has lines like");
  require_refused("doctor " + folder + "junk.log", "junk.log has no figure of a KV cache");
  require_refused("doctor - < /dev/null", "standard input is empty");
  require_refused("doctor " + folder + "missing.log", "missing.log");
  require_refused("doctor " + folder, "directory");
  require_refused("doctor", "LOG");
  require_refused("docter x.log", "did you mean 'doctor'?");
  scratch.file("other.log", "model='meta/unheard-of'\nSetting attention block size to 528 tokens\n");
  require_refused("doctor " + folder + "other.log", "is of the model 'meta/unheard-of', which does not come with");
  require_refused("doctor " + folder + "other.log --model Qwen3.5-4BB", "did you mean");
  CHECK(run_program("doctor " + folder + "other.log --model Qwen3.5-4B --format csv").exit_code == 0);
  require_refused("doctor - --model - < /dev/null", "both standard input");
  const std::string sample = "doctor '" HYBRIDKV_SOURCE_DIR "/docs/samples/server.txt' --set engine.release=";
  for (const std::string engine : {"sglang-0.5.23", "jenga", "llama.cpp"})
    require_refused(sample + engine, "figures like these are explained by vllm-2026-06 or vllm-0.32 or vllm-0.33");
  CHECK(run_program(sample + "vllm-0.33").exit_code == 0);
}
