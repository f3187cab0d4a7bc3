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

TEST_CASE("golden: what was seen at run time, why, and what a replay finds, for programs") {
  const std::string docs = "'" HYBRIDKV_SOURCE_DIR "/docs/samples/";
  const ProgramRun run =
      run_program("doctor " + docs + "serving.txt' --format json --trace " + docs + "trace.jsonl'");
  CHECK(run.exit_code == 0);
  const nlohmann::json json = nlohmann::json::parse(run.output);
  CHECK(json["run_time"]["lines"] == 5);
  CHECK(json["run_time"]["seen"]["waiting"] ==
        nlohmann::json({{"last", 0.0}, {"last_line", 19}, {"largest", 32.0}, {"largest_line", 18}}));
  CHECK(json["run_time"]["seen"]["preemptions"]["last"] == 12.0);
  CHECK(json["reasons"][0]["code"] == "match_unit");
  CHECK(json["reasons"][0]["certain"] == true);
  CHECK(json["more_hits"].size() == 3);
  CHECK(json["replay"]["requests"] == 45);
  CHECK(json["replay"]["settings"][0]["what"] == "as found");
  CHECK(json["replay"]["losses"]["found_tokens"] == json["replay"]["settings"][0]["hit_tokens"]);
}

TEST_CASE("golden: a start that failed, for programs, and commands that start") {
  const ProgramRun run = run_program("doctor '" HYBRIDKV_SOURCE_DIR "/docs/samples/failed.txt' --format json");
  CHECK(run.exit_code == 0);
  const nlohmann::json json = nlohmann::json::parse(run.output);
  CHECK(json["failure"]["code"] == "longest_request");
  CHECK(json["failure"]["line"] == 14);
  CHECK(json["found"]["estimated_max_model_len"] == 187968);
  REQUIRE(json["failure"]["try"].size() == 2);
  for (const nlohmann::json& one : json["failure"]["try"]) {
    const std::string command = one["command"].get<std::string>();
    CAPTURE(command);
    CHECK(run_program(command.substr(std::string("hybridkv ").size())).exit_code == 0);
  }
}

TEST_CASE("law: every command of a replay finds what doctor says it finds") {
  const std::string docs = "'" HYBRIDKV_SOURCE_DIR "/docs/samples/";
  for (const char* log : {"metrics.txt'", "sglang.txt'", "llama-server.txt'"}) {
    CAPTURE(log);
    const nlohmann::json json = nlohmann::json::parse(
        run_program("doctor " + docs + log + " --format json --trace " + docs + "trace.jsonl'").output);
    REQUIRE_FALSE(json["replay"]["settings"].empty());
    const std::string search = json["replay"]["search"].get<std::string>();
    CAPTURE(search);
    CHECK(run_program(search.substr(std::string("hybridkv ").size()) + " -q").exit_code == 0);
    for (const nlohmann::json& one : json["replay"]["settings"]) {
      const std::string command = one["command"].get<std::string>();
      CAPTURE(command);
      const ProgramRun run = run_program(command.substr(std::string("hybridkv ").size()) + " --format json");
      REQUIRE(run.exit_code == 0);
      CHECK(nlohmann::json::parse(run.output)["caches"][0]["hit_tokens"] == one["hit_tokens"]);
    }
  }
}

TEST_CASE("edge: requests that cannot be replayed, and lines without a start, are refused with what to give") {
  const ScratchFolder scratch;
  const std::string folder = scratch.path.string() + "/";
  scratch.file("run.log", "Engine 000: Avg generation throughput: 9.0 tokens/s, Running: 1 reqs\n");
  require_refused("doctor " + folder + "run.log", "says what its engine did as it served, but has no figure");
  scratch.file("block.log", "model='Qwen/Qwen3.5-4B'\nSetting attention block size to 528 tokens\n");
  const std::string trace = " --trace '" HYBRIDKV_SOURCE_DIR "/docs/samples/trace.jsonl'";
  require_refused("doctor " + folder + "block.log" + trace, "none of its figures says how large that is");
  scratch.file("blocks.log", "model='Qwen/Qwen3.5-4B'\n# GPU blocks: 501\n");
  require_refused("doctor " + folder + "blocks.log" + trace, "pass --max-model-len TOKENS");
  require_refused("doctor " + folder + "blocks.log --max-model-len 8k --trace " + folder + "none.jsonl", "none.jsonl");
  require_refused("doctor '" HYBRIDKV_SOURCE_DIR "/docs/samples/trtllm.txt' --model Qwen3.5-4B" + trace,
                  "and not how many states");
  require_refused("doctor " + folder + "blocks.log --trace-form mooncake", "give them by --trace FILE");
  require_refused("doctor - --trace - < /dev/null", "both standard input");
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
  require_refused(sample + "llama.cpp", "llama.cpp does not print such lines, vLLM does");
  for (const std::string engine : {"sglang-0.5.23", "jenga", "llama.cpp"})
    require_refused(sample + engine, "figures like these are explained by vllm-2026-06 or vllm-0.32 or vllm-0.33");
  CHECK(run_program(sample + "vllm-0.33").exit_code == 0);
}
