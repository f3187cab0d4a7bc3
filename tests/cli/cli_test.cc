// The program from outside: what a user types, what comes back, and the exit code.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/plan/plan_json.h"
#include "test_paths.h"
#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::ScratchFolder;
namespace fs = std::filesystem;

TEST_CASE("golden: the table of seven packs and the pack that costs fewest bytes") {
  const ProgramRun run = run_program("plan qwen3.5-397b");
  CHECK(run.exit_code == 0);
  CAPTURE(run.output);
  for (const char* row : {"2,146,304  0.58 %      1+3", "2,162,688  1.34 %      1+6", "2,162,688  1.34 %      1+9",
                          "2,162,688  1.34 %     1+12", "2,211,840  3.65 %     1+15", "2,228,224  4.41 %     1+23",
                          "2,211,840  3.65 %     1+45"})
    CHECK(contains(run.output, row));
  for (const char* request : {"675.5 MiB", "726.0 MiB", "670.3 MiB", "717.8 MiB", "670.8 MiB", "709.8 MiB"})
    CHECK(contains(run.output, request));
  CHECK(contains(run.output, "N = 3 costs fewest bytes per request of"));
  CHECK(contains(run.output, "19.53 GiB"));
  CHECK(contains(run.output, "128 MiB"));
}

TEST_CASE("law: the JSON of a plan reads back as the same plan") {
  const ProgramRun run = run_program("plan qwen3.5-397b --pack 1,4,5 --format json");
  REQUIRE(run.exit_code == 0);
  const auto json = nlohmann::ordered_json::parse(run.output);
  const PlanSet plans = plan_set_from_json(json);
  CHECK(plans.plans.size() == 3);
  CHECK(to_json(plans) == json);
}

TEST_CASE("golden: explain derives the block of five layers a page") {
  const ProgramRun run = run_program("explain qwen3.5-397b --pack 5");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "16 * ceil(2134016 / (16 * 5 * 1024))"));
  CHECK(contains(run.output, "vLLM PR 35703"));
}

TEST_CASE("edge: help, version and the list of models") {
  const std::string version = run_program("--version").output;
  CHECK(version.starts_with("hybridkv 0."));
  const std::string number = version.substr(9, version.find('\n') - 9);
  CHECK(run_shell("grep -qx 'version: " + number + "' " HYBRIDKV_SOURCE_DIR "/CITATION.cff").exit_code == 0);
  CHECK(contains(version, "\ncommit   "));
  CHECK(version.ends_with("\nschemas  hybridkv-plan/1 hybridkv-transfer/1 hybridkv-scenario/1\n"));
  for (const char* command : {"plan", "explain", "verify", "attend", "models", "import"}) {
    const ProgramRun help = run_program(std::string(command) + " --help");
    CHECK(help.exit_code == 0);
    CHECK(contains(help.output, "Examples:"));
  }
  const ProgramRun models = run_program("models --format csv");
  CHECK(models.exit_code == 0);
  CHECK(contains(models.output, "Qwen3.5-397B-A17B"));
  CHECK(contains(models.output, "granite-4.0-h-small"));
}

TEST_CASE("edge: a planned warning is no error") {
  const ProgramRun run = run_program("plan qwen3.5-397b --pack 1 --set limits.longest_prompt_tokens=370");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "prefix caching can never hit"));
}

TEST_CASE("edge: bad input names its place, its value and a way out, with exit code 2") {
  require_refused("plan", 2, "nothing to plan");
  require_refused("plan nowhere", 2, "nowhere");
  require_refused("plan missing.yaml", 2, "missing.yaml");
  require_refused("plan qwen3.5-397b --pack 0", 2, "attention_pack_size");
  require_refused("plan qwen3.5-397b --tp 3", 2, "--tp 3");
  require_refused("plan qwen3.5-397b --set engine.tensor_paralel=2", 2, "did you mean");
  require_refused("plan qwen3.5-397b --set engine.tensor_parallel=two", 2, "two");
  require_refused("plan qwen3.5-397b --memory 1MiB", 2, "the smallest that works is");
  require_refused("plan qwen3.5-397b --memory 99999999999999999999GiB", 2, "99999999999999999999");
  require_refused("plan qwen3.5-397b --pack 1 --set engine.block_size_tokens=128 --set engine.kernel_block_sizes=[96]",
                  2, "divides the block of 2176");
  require_refused("plan qwen3.5-397b --pack 1 --set engine.page_alignment_bytes=1000000 "
                  "--set engine.kernel_block_sizes=[16]", 2, "the padded page of 3000000 bytes");
  require_refused("plan qwen3.5-397b --format xml", 2, "xml");
  require_refused("fly", 2, "hybridkv");
  require_refused("attend /nowhere", 2, "no such folder");
  require_refused("verify qwen3.5-397b --inject gremlins", 2, "zero-full-page");
}

TEST_CASE("edge: errors in a file show file, line and column") {
  const ScratchFolder scratch;
  const std::string unknown =
      scratch.file("unknown.yaml", "model: Qwen3.5-4B\nengine:\n  memori: 1 GiB\nlimits: {max_model_len: 10}\n");
  require_refused("plan " + unknown, 2, unknown + ":3:3");
  const std::string broken = scratch.file("broken.yaml", "model: [\n");
  require_refused("plan " + broken, 2, broken + ":");
  const std::string ranks = scratch.file(
      "ranks.yaml",
      "model: Qwen3.5-4B\nengine:\n  tensor_parallel: 3\n  memory: 4 GiB\nlimits:\n  max_model_len: 4096\n");
  require_refused("plan " + ranks, 2, ranks + ":3:");
}

TEST_CASE("fault: verify finds a planted fault with exit code 1, and nothing without one") {
  const std::string small = "verify --model granite-4.0-h-350m --memory 2GiB --max-model-len 4096 --pack 2";
  const ProgramRun right = run_program(small);
  CAPTURE(right.output);
  CHECK(right.exit_code == 0);
  CHECK(contains(right.output, "Every element has its own address"));
  const ProgramRun wrong = run_program(small + " --inject null-block");
  CHECK(wrong.exit_code == 1);
  CHECK(contains(wrong.output, "was caught by block-tables"));
}

TEST_CASE("edge: the packs of the section verify are verified, unless --pack says others") {
  const auto packs = [](const std::string& rest) {
    const ProgramRun run = run_program("verify --model Qwen3.5-0.8B --memory 100MiB --max-model-len 100 --set "
                                       "verify.requests=[30] --quiet --format json " + rest);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    const auto report = nlohmann::json::parse(run.output);
    std::vector<std::int64_t> found;
    for (const auto& one : report.at("runs")) found.push_back(one.at("attention_pack_size"));
    return found;
  };
  CHECK(packs("--set verify.pack_sizes=3") == std::vector<std::int64_t>{3});
  CHECK(packs("--set verify.pack_sizes=3 --pack 1,6") == std::vector<std::int64_t>{1, 6});
}

TEST_CASE("fault: all faults planted in turn are caught, those without a place do not count, and the exit code is 0") {
  const ScratchFolder scratch;
  const std::string file = scratch.file(
      "small.yaml",
      "model:\n  name: small\n  ssm_dtype: fp32\n  kinds:\n"
      "    a: {type: full_attention, query_heads: 4, kv_heads: 2, head_size: 16}\n"
      "    g: {type: gdn, key_heads: 2, value_heads: 4, key_head_dim: 15, value_head_dim: 16, conv_kernel: 4}\n"
      "  layers: \"(ga)6\"\nengine: {memory: 16 MiB, cache_mode: align}\nlimits: {max_model_len: 256}\n");
  const std::string verify = "verify " + file + " --quiet --inject ";
  const ProgramRun packed = run_program(verify + "all --pack 2");
  CAPTURE(packed.output);
  CHECK(packed.exit_code == 0);
  CHECK(packed.output.ends_with("\n23 of 23 caught\n"));
  CHECK(contains(packed.output, "narrow-offsets has no place in this plan and does not count: its largest element"));
  const ProgramRun both = run_program(verify + "all --pack 1,2 --format json");
  CHECK(both.exit_code == 0);
  const auto json = nlohmann::json::parse(both.output);
  std::int64_t without = 0;
  for (const auto& run : json["runs"]) without += run.contains("no_place");
  CHECK(json["runs"].size() == 60);
  CHECK(json["planted"] == 60 - without);
  CHECK(json["caught"] == json["planted"]);
  const ProgramRun one = run_program(verify + "narrow-offsets --pack 2");
  CHECK(one.exit_code == 2);
  const std::string folder = (scratch.path / "export").string();
  const ProgramRun wrong = run_program(verify + "stride-order --pack 2 --export " + folder);
  CHECK(wrong.exit_code == 1);
  CHECK(contains(wrong.output, "was caught by address-audit-intervals"));
  CHECK_FALSE(fs::exists(folder));
  require_refused(verify + "all --pack 2 --export " + folder, 2, "plant one fault at most");
}

TEST_CASE(
    "regression: a KV format whose values nothing computes is not proven, exit code 5, and the checks are named") {
  const ProgramRun run = run_program(
      "verify --model Qwen3.5-4B --memory 4GiB --max-model-len 4096 --set engine.kv_dtype=turboquant_4bit_nc "
      "--quiet");
  CAPTURE(run.output);
  CHECK(run.exit_code == 5);
  CHECK(contains(run.output, "Not proven: attention-full and"));
}

TEST_CASE("regression: attention runs over KV formats with scales, and scales from another place are found") {
  const std::string verify = "verify --model granite-4.0-h-350m --memory 2GiB --max-model-len 4096 --pack 2 --quiet ";
  for (const std::string format : {"int4_per_token_head", "nvfp4", "fp8_e4m3"}) {
    const ProgramRun right = run_program(verify + "--format json --kv-dtype " + format);
    CAPTURE(right.output);
    CHECK(right.exit_code == 0);
    std::int64_t outputs = 0;
    const auto json = nlohmann::json::parse(right.output);
    for (const auto& check : json["runs"][0]["checks"])
      if (check["name"] == "attention-full" && check["status"] == "passed")
        outputs += check["count"].get<std::int64_t>();
    CHECK(outputs > 0);
    const ProgramRun wrong = run_program(verify + "--inject scale-exchanged --kv-dtype " + format);
    CHECK(wrong.exit_code == 1);
    CHECK(contains(wrong.output, "The planted fault scale-exchanged was caught by attention-full."));
  }
  require_refused(verify + "--inject scale-exchanged", 2, "no attention layer keeps values with scales");
  const ProgramRun forward = run_program("verify --forward --model granite-4.0-h-350m --memory 2GiB "
                                         "--max-model-len 4096 --quiet --kv-dtype turboquant_4bit_nc");
  CAPTURE(forward.output);
  CHECK(forward.exit_code == 5);
  CHECK(contains(forward.output, "turboquant_4bit_nc are not computed here"));
}

TEST_CASE("edge: more memory than this machine should give is exit code 3") {
  require_refused("verify qwen3.5-397b --pack 5 --set 'verify.resident_budget=1 MiB'", 3, "verification of 4 requests");
  require_refused("verify qwen3.5-397b --pack 1 --set 'engine.memory=200 TiB'", 3, "");
}

TEST_CASE("golden: attend reads a published batch and writes its output") {
  const ScratchFolder scratch;
  fs::copy(fs::path(HYBRIDKV_TEST_DATA) / "attention" / "vllm_mixed_small", scratch.path / "batch");
  const ProgramRun run = run_program("attend " + (scratch.path / "batch").string() + " --chunk 4 --format json");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  const auto json = nlohmann::json::parse(run.output);
  CHECK(json["shared_blocks"] == 7);
  CHECK(json["unique_blocks"] == 5);
  CHECK(fs::exists(scratch.path / "batch" / "out.npy"));
  CHECK(fs::exists(scratch.path / "batch" / "lse.npy"));
}

TEST_CASE("golden: models lists state, bytes per token and block as deployments print them, within 100 columns") {
  const ProgramRun run = run_program("models");
  CHECK(run.exit_code == 0);
  for (const char* row : {"8 full + 24 gdn ", "4 full + 36 mamba2 ", "2,146,304     528    0.76 %\n",
                          "2,147,840     528    0.69 %\n", "\nFalcon-Mamba-7B ", "64 mamba1 ",
                          "396.80 B   2,048  4,268,032 "})
    CHECK(contains(run.output, row));
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  const ProgramRun chosen = run_program("models QWEN3.6 --family gdn --format csv");
  CHECK(std::count(chosen.output.begin(), chosen.output.end(), '\n') == 3);
  require_refused("models --family gdm", 2, "did you mean 'gdn'?");
  require_refused("models falcon --family gdn", 2, "no shipped model of family gdn is called 'falcon'");
}

TEST_CASE("golden: import writes a model file that plans as the config itself does") {
  const ScratchFolder scratch;
  const std::string config = HYBRIDKV_TEST_DATA "/scenarios/configs/Bamba-9B.json";
  const std::string file = (scratch.path / "Bamba-9B.yaml").string();
  const ProgramRun run = run_program("import " + config + " -o " + file);
  CHECK(run.exit_code == 0);
  CHECK(run.output == file + ": Bamba-9B, 32 layers\n");
  const std::string rest = " --memory 20GiB --max-model-len 8192 --pack 1..3 --format json";
  const ProgramRun shipped = run_program("plan --model Bamba-9B" + rest);
  CHECK(shipped.exit_code == 0);
  CHECK(run_program("plan --model " + file + rest).output == shipped.output);
  CHECK(run_program("plan --model " + config + rest).output == shipped.output);
  fs::create_directory(scratch.path / "odd \"\\ name");
  fs::copy_file(config, scratch.path / "odd \"\\ name" / "Bamba-9B.json");
  CHECK(
      run_program("plan --model '" + (scratch.path / "odd \"\\ name" / "Bamba-9B.json").string() + "'" + rest).output ==
      shipped.output);
}

TEST_CASE("edge: import overwrites nothing unless told to, and leaves nothing behind when it fails") {
  const ScratchFolder scratch;
  const std::string config = HYBRIDKV_TEST_DATA "/scenarios/configs/Bamba-9B.json";
  const std::string file = scratch.file("old.yaml", "old\n");
  require_refused("import " + config + " -o " + file, 2,
                  file + ": exists already; take another name, or --force to replace it");
  CHECK(fs::file_size(file) == 4);
  CHECK(run_program("import " + config + " --force -o " + file).exit_code == 0);
  CHECK(fs::file_size(file) > 100);
  const std::string broken = scratch.file("broken.json", "{\"model_type\": \"bamba\"}");
  const std::string target = (scratch.path / "new.yaml").string();
  require_refused("import " + broken + " -o " + target, 2, "field 'dtype' is missing");
  CHECK(!fs::exists(target));
  require_refused("import " + config + " -o /nowhere/new.yaml", 2, "/nowhere/new.yaml: cannot be written");
  require_refused("import " + (scratch.path / "missing.json").string(), 2, "no such file");
  require_refused("import", 2, "CONFIG");
  CHECK(std::distance(fs::directory_iterator(scratch.path), fs::directory_iterator()) == 2);
}

TEST_CASE("edge: a reader that closes the pipe is no error") {
  const ProgramRun run = run_program("plan qwen3.5-397b --format json | head -n 1");
  CHECK(run.output == "{\n");
}
