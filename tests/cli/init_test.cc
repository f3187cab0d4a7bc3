// hybridkv init: the scenario file of the given flags.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

/// Its JSON; what is said beside it of an engine's own command is not.
std::string plan_of(const std::string& words) {
  const ProgramRun run = run_shell("$HYBRIDKV plan --format json " + words + " 2>/dev/null");
  CAPTURE(words);
  REQUIRE(run.exit_code == 0);
  return run.output;
}

}  // namespace

TEST_CASE("law: the file that init writes plans as the flags do that it was made of") {
  const ScratchFolder scratch;
  const std::string sample = (fs::path(HYBRIDKV_SOURCE_DIR) / "docs" / "samples" / "sample-hybrid").string();
  int made = 0;
  for (const std::string& words :
       {std::string("Qwen3.5-4B --memory 20G --max-model-len 32k"),
        std::string("qwen3.5-397b --engine vllm-0.33 --pack 1 --tp 4 --set engine.speculative_tokens=3"),
        "--model " + sample + " --memory 40G --max-model-len 32k,64k --kv-dtype fp8 --mode align",
        std::string("--memory 20G -- vllm serve Qwen/Qwen3.5-9B -tp 2 --max-model-len 32K --kv-cache-dtype fp8"),
        std::string("Qwen3.5-4B --engine sglang-0.5.23 --memory 40G --max-model-len 32k --tp 1")}) {
    const std::string file = (scratch.path / (std::to_string(made++) + ".yaml")).string();
    const ProgramRun run = run_program("init -o " + file + " " + words);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    CHECK(run.output.find(file + ": a scenario of ") != std::string::npos);
    CHECK(plan_of(file) == plan_of(words));
  }
}

TEST_CASE("golden: init prints the file, with the command that made it") {
  const ProgramRun run = run_program("init Qwen3.5-4B --memory 20G --max-model-len 32k --tp 2");
  CHECK(run.exit_code == 0);
  CHECK(run.output == "# Made by `hybridkv init Qwen3.5-4B --memory 20G --max-model-len 32k --tp 2`.\n"
                      "# Every key that may stand here: scenarios/example.yaml.\n"
                      "model: Qwen3.5-4B\n"
                      "engine:\n"
                      "  tensor_parallel: 2\n"
                      "  memory: 20G\n"
                      "limits:\n"
                      "  max_model_len: 32k\n");
}

TEST_CASE("edge: init replaces no file, and writes none of flags that say too little or something wrong") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("mine.yaml", "mine\n");
  const std::string words = " Qwen3.5-4B --memory 20G --max-model-len 32k";
  CHECK(run_program("init -o " + file + words).exit_code == 2);
  CHECK(run_program("init --force -o " + file + words).exit_code == 0);
  const std::string other = (scratch.path / "other.yaml").string();
  for (const char* const wrong : {" Qwen3.5-4B", " Qwen3.5-4B --memory 20G --max-model-len 32k --tp 1,0", ""}) {
    CAPTURE(wrong);
    CHECK(run_program("init -o " + other + wrong).exit_code == 2);
    CHECK(!fs::exists(other));
  }
}
