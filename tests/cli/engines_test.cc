// `--engines` from outside: what each engine says is what the command says under it alone.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ProgramRun;
using testing::require_refused;
using testing::ScratchFolder;
using testing::run_program;
using nlohmann::json;

namespace {

constexpr const char* two = " --engines vllm-0.33,sglang-0.5.23";

std::string output_of(const std::string& arguments) {
  const ProgramRun run = run_program(arguments);
  CAPTURE(arguments);
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return run.output;
}

}  // namespace

TEST_CASE("law: under --engines each engine answers as under --engine") {
  for (const std::string command : {"plan qwen3.5-397b --pack 1", "explain qwen3.5-397b --pack 1",
                                    "simulate qwen3.5-397b --pack 1 --requests 50 -q"}) {
    CAPTURE(command);
    const json both = json::parse(output_of(command + two + " --format json"));
    REQUIRE(both["engines"].size() == 2);
    for (const json& one : both["engines"]) {
      const std::string alone = output_of(command + " --format json --engine " + one["release"].get<std::string>());
      CHECK(one["answer"] == json::parse(alone));
    }
  }
}

TEST_CASE("law: a sweep has a point for each engine, whatever its cache index is") {
  const std::string sweep = "sweep qwen3.5-397b --pack 1 --simulate --requests 50 -q";
  const std::string rows = output_of(sweep + two);
  const std::size_t end = rows.find('\n');
  const json blocks = json::parse(rows.substr(0, end)), tree = json::parse(rows.substr(end + 1));
  CHECK(blocks["engine.release"] == "vllm-0.33");
  CHECK(tree["engine.release"] == "sglang-0.5.23");
  const json simulated = json::parse(
      output_of("simulate qwen3.5-397b --pack 1 --requests 50 -q --format json --engine sglang-0.5.23"));
  const json& cache = simulated["caches"][0];
  for (const char* const figure : {"prompt_tokens", "hit_tokens", "hit_rate", "requests_with_hit"}) {
    CAPTURE(figure);
    CHECK(tree[figure] == cache[figure]);
    CHECK(blocks[figure] != tree["status"]);
  }
  CHECK(tree["checkpoints_made"] == cache["states_made"]);
  CHECK(tree["checkpoints_evicted"] == cache["evicted_states"]);
  CHECK(tree["max_held_blocks"].is_null());  // it has none
  CHECK(blocks["max_held_blocks"].is_number());
}

TEST_CASE("edge: one engine that refuses leaves the others their answers") {
  const json both = json::parse(
      output_of("plan qwen3.5-397b --pack 1 --set engine.page_size=16 --format json" + std::string(two)));
  REQUIRE(both["engines"].size() == 2);
  CHECK(both["engines"][0].contains("refused"));
  CHECK(both["engines"][1].contains("answer"));
}

TEST_CASE("fault: lists of engines that cannot be followed") {
  require_refused("plan qwen3.5-397b --engines vllm-0.33,sglang", "did you mean 'sglang-0.5.23'");
  require_refused("plan qwen3.5-397b --engines vllm-0.33,,sglang-0.5.23", "--engines");
  require_refused("plan - --engines all", "standard input can be read once");
  require_refused("simulate qwen3.5-397b --pack 1 --engines all --trace -", "standard input can be read once");
  require_refused("simulate qwen3.5-397b --pack 1 --engines all --per-request /tmp/none.csv", "choose one release");
  require_refused("plan qwen3.5-397b --engines all --engine vllm-0.33", "--engine");
  require_refused("plan qwen3.5-397b --engine vllm-0.33,sglang-0.5.23", "or --engines, where each answers");
  require_refused("plan qwen3.5-397b --engines vllm-0.33,sglang-0.5.23 --memory 1M", "no engine answers:");
}

TEST_CASE("rule: engines are drawn and reported beside each other, other kinds are not mixed in") {
  const ScratchFolder scratch;
  const std::string plots = (scratch.path / "plots").string(), report = (scratch.path / "report").string();
  const ProgramRun drawn =
      run_program("plot qwen3.5-397b engine-request --pack 1 -q -o " + plots + std::string(two));
  CAPTURE(drawn.output);
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.output == plots + "/engine-request.tsv\n" + plots + "/engine-request.svg\n");
  require_refused("plot qwen3.5-397b engine-request -o " + plots, "--engines all");
  require_refused("plot qwen3.5-397b page-map -o " + plots + two,
                  "with --engines take engine-request or engine-hit-rate");
  const ProgramRun page = run_program("report qwen3.5-397b --pack 1 -q -o " + report + std::string(two));
  CAPTURE(page.output);
  REQUIRE((page.exit_code == 0 || page.exit_code == 4));  // 4: no gnuplot here
  const std::string text = testing::text_of(report + "/report.md");
  // The memory of each engine comes before its numbers, of which those that differ are not folded.
  std::size_t at = 0;
  for (const char* const said : {"| K and V of tokens | ", "](plots/engine-request.svg)", "| what | unit |",
                                 "<summary>Same for all: ", "| what | unit |",
                                 "## What makes the marked rows differ"}) {
    CAPTURE(said);
    at = text.find(said, at + 1);
    REQUIRE(at != std::string::npos);
  }
  // What is found again is a row of the table too, and not the title of a picture alone.
  for (const char* const said : {"One request in every layout", "983,470,080", "811,008,000",
                                 "| found again | tokens | ",
                                 "hybridkv compare qwen3.5-397b --pack 1 --engines vllm-0.33,sglang-0.5.23"}) {
    CAPTURE(said);
    CHECK(text.find(said) != std::string::npos);
  }
}
