// The tables of docs/engines.md are what the program says.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/number_text.h"
#include "test_paths.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
using hybridkv::human_bytes;
using hybridkv::human_count;
using nlohmann::json;

namespace {

std::string page() { return text_of(HYBRIDKV_SOURCE_DIR "/docs/engines.md"); }

json answer_to(const std::string& arguments) {
  CAPTURE(arguments);
  const ProgramRun run = run_program(arguments + " --format json");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.output);
}

/// The one command of the page, asked of another model.
std::string comparison_of(const std::string& model) {
  const std::string text = page(), start = "hybridkv compare --model Qwen3.5-397B-A17B ";
  const std::size_t begin = text.find(start) + start.size();
  return "compare --quiet --model " + model + " " + text.substr(begin, text.find('\n', begin) - begin);
}

/// A figure of a setting of a comparison; null where it has none.
json figure(const json& comparison, const std::string& name, std::size_t setting) {
  for (const json& row : comparison["rows"])
    if (row["name"] == name) return row["values"][setting];
  FAIL("no row ", name);
  return nullptr;
}

std::string percent(const json& value) {
  return value.is_null() ? "-" : fmt::format("{:.2f} %", value.get<double>());
}

/// The table of a model: a row for each engine that starts, and an ideal cache below them.
std::string engine_table(const json& comparison) {
  std::string table =
      "| engine | rules | block | ids | request | at once | found | at most |\n|---|---|--:|--:|--:|--:|--:|--:|\n";
  const std::size_t count = comparison["settings"].size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto of = [&](const char* name) { return figure(comparison, name, i); };
    if (of("release").is_null()) continue;  // it does not start
    table += fmt::format("| `{}` | {} | {} | {} | {} | {:.2f} | {} | {} |\n", of("release").get<std::string>(),
                         of("evidence").get<std::string>(), human_count(of("block_size_tokens")),
                         human_count(of("blocks_per_request")), human_bytes(of("bytes_per_request")),
                         of("usable_concurrency").get<double>(), percent(of("hit_rate_percent")),
                         percent(of("upper_percent")));
  }
  return table + fmt::format("| ideal | | | | {} | {:.2f} | {} | |\n",
                             human_bytes(figure(comparison, "ideal_bytes_per_request", 0)),
                             figure(comparison, "ideal_concurrency", 0).get<double>(),
                             percent(figure(comparison, "token_exact_percent", 0)));
}

/// The row of a strategy in the table of strategies, from where its figures begin.
std::string strategy_figures(const json& plan) {
  std::int64_t block = 0, grid = 0;
  for (const json& spec : plan["specs"]) (spec.contains("state") ? grid : block) = spec["block_size_tokens"];
  const json& capacity = plan["capacity"][0];
  return fmt::format("| {} | {} | {} | {:.2f} | {} |\n", human_count(block), human_count(grid),
                     human_bytes(capacity["bytes_per_request"]), capacity["usable_concurrency"].get<double>(),
                     human_count(plan["prefix"]["min_cacheable_prefix_tokens"]));
}

}  // namespace

TEST_CASE("golden: the tables of docs/engines.md are what the program compares") {
  for (const std::string model : {"Qwen3.5-397B-A17B", "Nemotron-3-Nano-30B-A3B", "Kimi-Linear-48B-A3B"}) {
    const std::string table = engine_table(answer_to(comparison_of(model)));
    CAPTURE(table);
    CHECK(contains(page(), "## " + model + "\n\n" + table + "\n"));
  }
}

TEST_CASE("golden: the strategies of docs/engines.md are what the program plans") {
  const std::string text = page();
  for (const std::string strategy :
       {"packed_attention", "dual_pool", "small_pages", "compact_slots", "two_level"}) {
    const std::size_t begin = text.find("| `" + strategy + "`");
    REQUIRE(begin != std::string::npos);
    const std::string row = text.substr(begin, text.find('\n', begin) + 1 - begin);
    const json plans = answer_to("plan qwen3.5-397b --pack 1 --mode align --set engine.strategy=" + strategy)["plans"];
    const std::string figures = strategy_figures(plans[0]);
    CAPTURE(row);
    CAPTURE(figures);
    CHECK(row.ends_with(figures));
  }
}
