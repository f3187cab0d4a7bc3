// `hybridkv conform` against a record of an engine: what agrees, a planted difference, and drivers that fail. Against
// the engine itself only where HYBRIDKV_VLLM_PYTHON names the interpreter of its environment.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;

namespace {

const std::string recorded =
    "conform vllm-0.33 --models Qwen3.5-0.8B --random 0 --driver '" HYBRIDKV_TEST_DATA "/conform/recorded.py'";

ProgramRun run_recorded(const std::string& kind, const std::string& flags = "") {
  return run_program(recorded + " " + flags, "HYBRIDKV_FAKE_DRIVER=" + kind);
}

/// A driver with one planted difference: it is reported alone, with its figure and the rule that it falsifies. Returns
/// it.
nlohmann::json check_only_difference(const std::string& asked, const std::string& environment,
                                     const std::string& figure, const std::string& rule) {
  const ProgramRun planted = run_program(asked + " --format json", environment);
  CHECK(planted.exit_code == 1);
  const nlohmann::json json = nlohmann::json::parse(planted.output);
  REQUIRE(json["differences"].size() == 1);
  CHECK(json["differences"][0]["figure"] == figure);
  CHECK(json["differences"][0]["rule"] == rule);
  return json["differences"][0];
}

}  // namespace

TEST_CASE("golden: every figure that the engine was recorded with is ours") {
  const ProgramRun run = run_recorded("agrees");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: vLLM 0.33.0 and the installed version 0.33.0 agree in "));
  CHECK(contains(run.output, "everything: a record answers"));
  CHECK(contains(run.output, "replay.hits"));
}

TEST_CASE("golden: so is every figure of the release before, which is a folder of what it lacks") {
  const std::string asked = "conform vllm-0.32 --models Qwen3.5-0.8B --random 0 --driver '" HYBRIDKV_TEST_DATA
                            "/conform/recorded.py'";
  const ProgramRun run = run_program(asked, "HYBRIDKV_FAKE_VERSION=0.32.0");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: vLLM 0.32.0 and the installed version 0.32.0 agree in "));
  CHECK(contains(run.output, "replay.hits"));
}

TEST_CASE("golden: so is every figure of encoders, chunks, indexers and states alone") {
  const std::string asked =
      "conform vllm-0.33 --models '" HYBRIDKV_TEST_DATA "/conform/Whisper-large-v3.yaml',Llama-4-Scout-17B-16E,"
      "Falcon-Mamba-7B,Gemma-4-31B,DeepSeek-V3.2 --random 0 --driver '" HYBRIDKV_TEST_DATA "/conform/recorded.py'";
  const ProgramRun run = run_program(asked, "HYBRIDKV_FAKE_ENGINE=vllm-kinds");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: vLLM 0.33.0 and the installed version 0.33.0 agree in "));
}

TEST_CASE("golden: the pools and the tree that SGLang was recorded with are ours, and a slot less names its rule") {
  const std::string asked = "conform sglang-0.5.23 --models Qwen3.5-4B,LFM2.5-1.2B --random 20 --driver '"
                            HYBRIDKV_TEST_DATA "/conform/recorded.py'";
  const std::string record = "HYBRIDKV_FAKE_ENGINE=sglang HYBRIDKV_FAKE_VERSION=0.5.23";
  const ProgramRun run = run_program(asked, record);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: SGLang 0.5.23 and the installed version 0.5.23 agree in "));
  CHECK(contains(run.output, "token_slots"));
  CHECK(contains(run.output, "replay.evicted_states"));
  check_only_difference(asked, record + " HYBRIDKV_FAKE_DRIVER=slots", "state_slots",
                        "K = floor((X * R / (1 + R) - M) / M)");
  check_only_difference(asked, record + " HYBRIDKV_FAKE_DRIVER=hits", "replay[3].hit_tokens",
                        "a hit ends with the deepest state on the path of the first n - 1 tokens; a chunk leaves one "
                        "at the branch, else at the last multiple of G from its start");
  check_only_difference(asked, record + " HYBRIDKV_FAKE_DRIVER=kept", "replay[1].tree_states",
                        "a chunk of G tokens or more leaves one state: at the branch, else at the last multiple of G "
                        "from its start");
}

TEST_CASE("golden: cells, rows and prompts that llama.cpp was recorded with are ours, and rules are named") {
  const std::string asked = "conform llama.cpp --models LFM2.5-1.2B --random 12 --driver '"
                            HYBRIDKV_TEST_DATA "/conform/recorded.py'";
  const std::string record = "HYBRIDKV_FAKE_ENGINE=llama.cpp HYBRIDKV_FAKE_VERSION=0c1e570";
  const ProgramRun run = run_program(asked, record);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: llama.cpp and the installed version 0c1e570 agree in 40 cases: 39 with every"));
  CHECK(contains(run.output, "caches.k_mib"));
  CHECK(contains(run.output, "replay.gave_way"));
  check_only_difference(asked, record + " HYBRIDKV_FAKE_DRIVER=cells", "slot_cells",
                        "engine.ctx_size, shared out unless cells are shared, in whole 256");
  const nlohmann::json steps = check_only_difference(
      asked, record + " HYBRIDKV_FAKE_DRIVER=steps", "replay[1].steps",
      "a step ends with engine.batch_size, engine.ubatch_size + 4 tokens before the end of the prompt, and 4 tokens "
      "before it");
  CHECK(steps["said"] == "a tail of 4 tokens more");
  CHECK(steps["source"] == "llama.cpp b11312 server, run");
  const ProgramRun unasked = run_program(asked, record + " HYBRIDKV_FAKE_DRIVER=unasked");
  CHECK(contains(unasked.output, ", 1 not asked"));
  CHECK(contains(unasked.output, "the architecture of a model: 1 case"));
}

TEST_CASE("edge: where a plan warns that the engine may end, and it does, both sides refuse the case") {
  const std::string asked =
      "conform llama.cpp --random 0 --driver '" HYBRIDKV_TEST_DATA "/conform/recorded.py' --models ";
  const std::string record =
      "HYBRIDKV_FAKE_ENGINE=llama.cpp HYBRIDKV_FAKE_VERSION=0c1e570 HYBRIDKV_FAKE_DRIVER=ends";
  const ProgramRun warned = run_program(asked + "Kimi-Linear-48B-A3B", record);
  CAPTURE(warned.output);
  CHECK(warned.exit_code == 0);
  CHECK(contains(warned.output, "agree in 28 cases: 0 with every figure equal, 1"));
  CHECK(contains(run_program(asked + "LFM2.5-1.2B", record).output, "Falsified: refusal, in 1 case"));
}

TEST_CASE("law: the rules of one release are falsified by the record of another, by name") {
  const ProgramRun run = run_program(recorded + " --format json",
                                     "HYBRIDKV_FAKE_DRIVER=another HYBRIDKV_FAKE_VERSION=0.32.0");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "\"figure\": \"block_size_tokens\""));
  CHECK(contains(run.output, "\"figure\": \"groups[0].checkpoint_blocks\""));
  CHECK(contains(run.output, "the scan exports a state inside a chunk"));
}

TEST_CASE("law: a planted difference is found by name, with both sides and the rule that it falsifies") {
  const ProgramRun run = run_recorded("differs", "--format json");
  CHECK(run.exit_code == 1);
  const nlohmann::json json = nlohmann::json::parse(run.output);
  CHECK(json["agrees"] == false);
  REQUIRE(json["differences"].size() == 1);
  const nlohmann::json& found = json["differences"][0];
  CHECK(found["figure"] == "block_size_tokens");
  CHECK(found["rule"] == "B = A * ceil(M / (A * N * a1))");
  CHECK(std::stoll(found["theirs"].get<std::string>()) == std::stoll(found["ours"].get<std::string>()) + 16);
  CHECK(found["made_by"] == "planned_block (planning.py:7)");
  CHECK(found["said"] == "a block of 16 tokens more");
  CHECK(contains(run_recorded("differs").output, "Falsified: block_size_tokens, in 1 case"));
}

TEST_CASE("law: a case that one side alone refuses is a difference") {
  const ProgramRun run = run_recorded("refuses");
  CAPTURE(run.output);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "Falsified: refusal, in 1 case"));
  CHECK(contains(run.output, "not today"));
}

TEST_CASE("edge: a driver that dies, talks or does not fit is bad input, and says why") {
  for (const auto& [kind, message] : {std::pair{"dies", "no engine is installed"},
                                      {"talks", "the driver answered what cannot be read"},
                                      {"unfit", "the driver does not fit version 0.33.0: AttributeError"}}) {
    const ProgramRun run = run_recorded(kind);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  }
}

TEST_CASE("edge: a version that the rules are not of is compared and warned of") {
  const ProgramRun run = run_recorded("newer");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "the rules are of version 0.33.0, and 0.34.0 is installed"));
}

TEST_CASE("edge: engines, models and interpreters that there are not") {
  require_refused("conform sglang-0.5.24", "no such engine; take one of vllm-0.32, vllm-0.33, sglang-0.5.23");
  require_refused("conform jenga", "how Jenga");
  require_refused("conform llama.cpp", "--llama-server is missing: the program of llama.cpp");
  require_refused("conform vllm-0.33 --llama-server x", "vLLM 0.33.0 is not asked through it");
  require_refused("conform vllm-0.33 --models nobody", "no shipped model");
  require_refused("conform vllm-0.33 --python /nobody/python", 4, "cannot be run; --python names");
}

TEST_CASE("golden: the help has an example of each program that asks engines, of releases of one engine the first") {
  const std::string help = run_program("conform --help").output;
  CAPTURE(help);
  CHECK(contains(help, "\n  hybridkv conform vllm-0.32 --python venv/bin/python"));
  CHECK(contains(help, "\n  hybridkv conform sglang-0.5.23 --python venv/bin/python"));
  CHECK(contains(help, "\n  hybridkv conform llama.cpp --llama-server FILE"));
  CHECK_FALSE(contains(help, "hybridkv conform vllm-0.33"));
}

TEST_CASE("golden: what was answered is written down as it came") {
  const ScratchFolder scratch;
  const std::string folder = scratch.path.string();
  const ProgramRun run =
      run_recorded("agrees", "--record " + folder + "/cases.jsonl -o " + folder + "/result.json --format csv");
  CHECK(run.exit_code == 0);
  const ProgramRun lines = run_shell("wc -l < " + folder + "/cases.jsonl");
  const nlohmann::json result = nlohmann::json::parse(run_shell("cat " + folder + "/result.json").output);
  CHECK(std::stoll(lines.output) == result["cases"].get<std::int64_t>());
  CHECK(result["schema"] == "hybridkv-conform/1");
}

TEST_CASE("golden: an installed vLLM agrees in every case") {
  const char* python = std::getenv("HYBRIDKV_VLLM_PYTHON");
  if (python == nullptr) {
    std::printf("SKIPPED: $HYBRIDKV_VLLM_PYTHON, the interpreter of an environment with vLLM 0.33.0, is not set\n");
    return;
  }
  const ProgramRun run = run_program(std::string("conform vllm-0.33 --python '") + python + "' --random 20");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
}
