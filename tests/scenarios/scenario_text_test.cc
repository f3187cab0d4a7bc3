// A scenario written again: as YAML that reads back as the same, whatever was laid over it.
#include "scenarios/scenario_text.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "scenarios/sweep_axes.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: every shipped scenario reads back from its text as itself") {
  for (const std::string& name : shipped_scenarios()) {
    CAPTURE(name);
    const ScenarioFile file = load_scenario(name);
    const std::string text = scenario_text(file, "");
    const ScenarioFile again = parse_scenario(text, name + ".yaml");
    CHECK(ScenarioSweep(again).identity() == ScenarioSweep(file).identity());
    CHECK(scenario_text(again, "") == text);
  }
}

TEST_CASE("golden: what was laid over a file stands in its text, what was taken back does not") {
  ScenarioFile file = parse_scenario("model: Qwen3.5-4B\n"
                                     "engine: {memory: 40G, tensor_parallel: [1, 2], mtp_layers: 1}\n"
                                     "limits: {max_model_len: 32k}\n",
                                     "some.yaml");
  apply_override(file, "engine.mtp_layers=null");
  apply_override(file, "engine.kv_dtype=fp8");
  apply_override(file, "simulate.trace.prompts=[{tokens: 20, copies: 2}]");
  CHECK(scenario_text(file, "") == "model: Qwen3.5-4B\n"
                                   "engine:\n"
                                   "  memory: 40G\n"
                                   "  tensor_parallel: [1, 2]\n"
                                   "  kv_dtype: fp8\n"
                                   "limits:\n"
                                   "  max_model_len: 32k\n"
                                   "simulate:\n"
                                   "  trace:\n"
                                   "    prompts:\n"
                                   "      - tokens: 20\n"
                                   "        copies: 2\n");
}

TEST_CASE("edge: a text in quotes stays a text") {
  const ScenarioFile file = parse_scenario("model: \"1e3\"\nengine: {memory: \"40 GiB\"}\n", "some.yaml");
  const ScenarioFile again = parse_scenario(scenario_text(file, ""), "again.yaml");
  CHECK(again.root.find("model")->quoted);
  CHECK(again.root.find("model")->text == "1e3");
  CHECK(again.root.find("engine")->find("memory")->text == "40 GiB");
}

TEST_CASE("law: files that a scenario names are found from wherever its text is put") {
  const ScratchFolder scratch;
  const std::filesystem::path here = scratch.path / "here", there = scratch.path / "there";
  std::filesystem::create_directories(here);
  std::filesystem::create_directories(there);
  ScenarioFile file = parse_scenario("model: {file: mine.yaml}\nsimulate: {trace: {file: ../one.jsonl}}\n", "some.yaml",
                                     here.string());
  const ScenarioFile again = parse_scenario(scenario_text(file, there.string()), "again.yaml", there.string());
  CHECK(again.root.find("model")->find("file")->text == "../here/mine.yaml");
  CHECK(again.root.find("simulate")->find("trace")->find("file")->text == "../one.jsonl");
  const ScenarioFile beside = parse_scenario(scenario_text(again, here.string()), "beside.yaml", here.string());
  CHECK(beside.root.find("model")->find("file")->text == "./mine.yaml");
  for (const char* const everywhere : {"-", "/srv/one.yaml", "hf://some/model"}) {
    apply_override(file, "model.file", yaml_quoted(everywhere), "--model");
    const ScenarioFile same = parse_scenario(scenario_text(file, there.string()), "same.yaml");
    CHECK(same.root.find("model")->find("file")->text == std::string(everywhere));
  }
}
