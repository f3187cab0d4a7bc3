#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

constexpr const char* plan = "--model Qwen3.5-397B-A17B --tp 2 --memory 40GiB --max-model-len 32k --pack 5";

std::string emit_to(const ScratchFolder& scratch, const std::string& output, const std::string& more = "") {
  return "emit vllm-builder " + std::string(plan) + " -o '" + (scratch.path / output).string() + "' " + more;
}

}  // namespace

TEST_CASE("golden: a package of four files and cases, a module alone, or the module on standard output") {
  const ScratchFolder scratch;
  const ProgramRun folder = run_program(emit_to(scratch, "packed"));
  CHECK(folder.exit_code == 0);
  CHECK(contains(folder.output, "hybridkv_builder.py, test_builder.py, pyproject.toml, README.md, cases/"));
  for (const char* file : {"hybridkv_builder.py", "test_builder.py", "pyproject.toml", "README.md"})
    CHECK(fs::file_size(scratch.path / "packed" / file) > 100);
  CHECK(fs::file_size(scratch.path / "packed" / "cases" / "full_attention_1" / "out.npy") == 737408);
  std::ifstream readme(scratch.path / "packed" / "README.md");
  CHECK(contains(std::string(std::istreambuf_iterator<char>(readme), {}),
                 "vllm.unified_attention, one pass (2D) 0.33.0 fits: it takes or rightly derives every stride"));
  CHECK(run_program(emit_to(scratch, "mine.py")).exit_code == 0);
  const ProgramRun streamed = run_program("emit vllm-builder " + std::string(plan));
  CHECK(streamed.exit_code == 0);
  CHECK(contains(streamed.output, "\"layers_per_page\": 5"));
  std::ifstream file(scratch.path / "mine.py");
  CHECK(contains(streamed.output, "class PlanBuilder"));
  CHECK(contains(std::string(std::istreambuf_iterator<char>(file), {}), "\"layers_per_page\": 5"));
}

TEST_CASE("message: nothing that exists is replaced unasked, and then no file is") {
  const ScratchFolder scratch;
  fs::create_directories(scratch.path / "packed");
  std::ofstream(scratch.path / "packed" / "README.md") << "mine";
  const ProgramRun refused = run_program(emit_to(scratch, "packed"));
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "README.md"));
  CHECK(!fs::exists(scratch.path / "packed" / "hybridkv_builder.py"));
  CHECK(!fs::exists(scratch.path / "packed" / "cases"));
  CHECK(run_program(emit_to(scratch, "packed", "--force")).exit_code == 0);
}

TEST_CASE("message: kinds, engines and plans that there is no builder for") {
  const auto refused = [](const std::string& words, const std::string& message) {
    CAPTURE(words);
    const ProgramRun run = run_program("emit " + words);
    CHECK(run.exit_code == 2);
    CHECK_MESSAGE(contains(run.output, message), run.output);
  };
  refused("vllm-bilder " + std::string(plan), "did you mean 'vllm-builder'?");
  refused("vllm-builder " + std::string(plan) + " --engine vllm-0.32",
          "vllm-builder is of vLLM 0.33.0, and the plan is of vLLM 0.32.0; add --engine vllm-0.33");
  refused("vllm-builder " + std::string(plan) + ",3", "give one --pack");
}
