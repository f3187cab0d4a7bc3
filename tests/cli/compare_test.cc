// `hybridkv compare` from outside.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
using Json = nlohmann::ordered_json;

namespace {

const std::string releases = "compare qwen3.5-397b --pack 1 --engine vllm-2026-06,vllm-0.33";

Json compared(const std::string& arguments) {
  const ProgramRun run = run_program(arguments + " --format json");
  CAPTURE(arguments);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  return Json::parse(run.output);
}

Json values_of(const Json& json, const std::string& name) {
  for (const Json& row : json["rows"])
    if (row["name"] == name) return row["values"];
  return nullptr;
}

std::size_t num_differing(const Json& json) {
  std::size_t count = 0;
  for (const Json& row : json["rows"]) count += row["differs"].get<bool>() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("golden: June against 0.33, in the terminal") {
  const ProgramRun run = run_program(releases);
  CHECK(run.exit_code == 0);
  CAPTURE(run.output);
  for (const char* line : {"* block                  tokens              2,096              2,112\n",
                           "* ids of a request       ids                    22                 25\n",
                           "* concurrency, printed                       60.64              52.92\n",
                           "* KV cache tokens        tokens          1,986,932          1,734,082\n"})
    CHECK(contains(run.output, line));
  CHECK(contains(run.output, "A = 16 | 64 tokens"));
  CHECK(contains(run.output, "in vllm-0.33: ids = 2 + s + c"));
  CHECK_FALSE(contains(run.output, "\x1b"));
  CHECK(contains(run_program(releases + " --color always").output, "\x1b[32m* block "));
}

TEST_CASE("law: --engine, --vary, --set with a list and files compare the same") {
  const Json json = compared(releases);
  CHECK(values_of(json, "block_size_tokens") == Json({2096, 2112}));
  CHECK(compared("compare qwen3.5-397b --pack 1 --vary engine.release=vllm-2026-06,vllm-0.33")["rows"] == json["rows"]);
  CHECK(compared("compare qwen3.5-397b --pack 1 --set engine.release='[vllm-2026-06, vllm-0.33]'")["rows"] ==
        json["rows"]);
  const ScratchFolder scratch;
  const std::string start = "model: Qwen3.5-397B-A17B\nlimits: {max_model_len: 32768}\nengine:\n  tensor_parallel: 2\n"
                            "  ssm_dtype: fp32\n  kv_dtype: bf16\n  cache_mode: align\n  memory: 40 GiB\n";
  const std::string june = scratch.file("june.yaml", start + "  release: vllm-2026-06\n");
  const std::string now = scratch.file("now.yaml", start + "  release: vllm-0.33\n");
  const Json files = compared("compare " + june + " " + now);
  CHECK(files["rows"] == json["rows"]);
  CHECK(files["settings"][1]["name"] == "now");
  CHECK(compared("compare " + june + " - < " + now)["rows"] == json["rows"]);
  CHECK(num_differing(compared("compare " + june + " " + june)) == 0);
  CHECK(contains(run_program("compare " + june + " " + june).output, "Nothing differs."));
}

TEST_CASE("golden: two models, and six settings") {
  const std::string rest = " --memory 40GiB --max-model-len 32k";
  const Json models = compared("compare --model Qwen3.5-4B,Qwen3.5-9B" + rest);
  CHECK(values_of(models, "model") == Json({"Qwen3.5-4B", "Qwen3.5-9B"}));
  CHECK(compared("compare Qwen3.5-4B Qwen3.5-9B" + rest)["rows"] == models["rows"]);
  const Json six =
      compared("compare qwen3.5-397b --pack 1 --tp 1,2 --vary engine.kv_dtype=bf16,fp8,int8_per_token_head");
  CHECK(six["settings"].size() == 6);
  CHECK(values_of(six, "tensor_parallel") == Json({1, 1, 1, 2, 2, 2}));
  CHECK(compared("compare qwen3.5-397b --pack 1 --vary limits.max_model_len=8k,32k")["settings"].size() == 2);
  CHECK(compared("compare qwen3.5-397b --pack 1,2 --max-model-len 8k,32k")["settings"].size() == 2);
}

TEST_CASE("edge: nine settings, one, and a flag that varies twice") {
  require_refused("compare qwen3.5-397b --pack 1..9", "these are 9 settings: engine.attention_pack_size has 9 values");
  require_refused("compare qwen3.5-397b --pack 1", "nothing to compare: that is one setting");
  require_refused("compare", "nothing to plan");
  require_refused("compare qwen3.5-397b --pack 1 --vary engine.tensor_parallel=1,2 --vary engine.tensor_parallel=4",
                  "gives values of engine.tensor_parallel already");
  require_refused("compare qwen3.5-397b --pack 1 --vary engine.tensor_parallel", "write KEY=VALUE,VALUE");
  require_refused("compare qwen3.5-397b --pack 1 --vary engine.tensor_parallel=1,,2", "of the list '1,,2' is empty");
}

TEST_CASE("edge: what is misspelt is asked about") {
  require_refused("compare qwen3.5-397b --pack 1 --vary engine.relase=vllm-2026-06,vllm-0.33",
                  "unknown key 'relase' in engine; did you mean 'release'?");
  require_refused("compare qwen3.5-397b --pack 1 --engine vllm-2026-06,vllm-0.34", "'vllm-0.33'");
  require_refused("compare qwen3.5-397b --pack 1 --vary model=Qwen3.5-4,Qwen3.5-9B", "did you mean 'Qwen3.5-4B'");
  require_refused("compare qwen3.5-397b --very a=1,2", "did you mean '--vary'");
  require_refused("compar qwen3.5-397b", "did you mean 'compare'");
}

TEST_CASE("edge: a refused setting is a column; where all are, the exit code is 2") {
  const std::string all = "compare qwen3.5-397b --pack 1 --mode all ";
  const ProgramRun run = run_program(all + "--engine vllm-2026-06,vllm-0.33");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "refused\n"));
  CHECK(contains(run.output, "! vllm-0.33 is refused: "));
  CHECK(contains(run.output, "has no mode all; take"));
  const Json json = compared(all + "--engine vllm-2026-06,vllm-0.33");
  CHECK(json["settings"][0]["refused"] == nullptr);
  CHECK(contains(json["settings"][1]["refused"].get<std::string>(), "has no mode all"));
  CHECK(values_of(json, "block_size_tokens")[1] == nullptr);
  const ProgramRun none = run_program(all + "--set engine.release=vllm-0.33 --tp 1,2");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.output, "has no mode all"));
  CHECK_FALSE(contains(none.output, "What makes"));
}

TEST_CASE("law: every format says the same values") {
  const Json json = compared(releases);
  const ProgramRun csv = run_program(releases + " --format csv");
  std::istringstream lines(csv.output);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "name,unit,vllm-2026-06,vllm-0.33,differs,rules");
  std::size_t row = 0;
  for (; std::getline(lines, line); ++row) {
    CAPTURE(line);
    const Json& one = json["rows"][row];
    CHECK(line.starts_with(one["name"].get<std::string>() + "," + one["unit"].get<std::string>() + ","));
    if (one["values"][0].is_number_integer())
      CHECK(contains(line, "," + one["values"][0].dump() + "," + one["values"][1].dump() + ","));
  }
  CHECK(row == json["rows"].size());
  CHECK(contains(run_program(releases + " --format markdown").output,
                 "| **block** | **tokens** | **2,096** | **2,112** |"));
}

TEST_CASE("edge: what is assumed of a model's name is said once, however many settings have it") {
  const ProgramRun run = run_program("compare --model Qwen3.5-4B-FP8 --engine vllm-2026-06,vllm-0.33 --memory 40GiB "
                                     "--max-model-len 32k");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains_once(run.output, "hybridkv: Qwen3.5-4B-FP8 is planned with the layers of Qwen3.5-4B; "));
}
