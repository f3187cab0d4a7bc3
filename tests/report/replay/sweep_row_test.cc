// Rows of a sweep: their bytes, and what can be read back from their start.
#include "report/replay/sweep_row.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CachePlan plan_of_packs(std::int64_t pack) {
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .attention_pack_size = pack,
                          .memory_bytes = 40 * gib};
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}, std::nullopt, PlanDetail::numbers);
}

SweepRowSpec spec_of(SweepFormat format) {
  return {.axes = {"model", "engine.attention_pack_size"}, .verified = false, .simulated = false, .format = format,
          .num_points = 6, .identity = "a question"};
}

}  // namespace

TEST_CASE("golden: a row in JSON Lines and in CSV") {
  const SweepPoint point{.point = 3, .plan = plan_of_packs(4)};
  const std::vector<Cell> axes{std::string("Qwen3.5-397B-A17B"), std::int64_t{4}};
  const SweepRows json_rows(spec_of(SweepFormat::jsonl));
  const std::string line = json_rows.row(point, axes);
  CHECK(line.starts_with("{\"sweep\":\"" + json_rows.sweep_id() +
                         "\",\"points\":6,\"point\":3,\"status\":\"ok\",\"model\":\"Qwen3.5-397B-A17B\","
                         "\"engine.attention_pack_size\":4,\"reason\":null,\"attention_pack_size\":4,"));
  CHECK(line.ends_with(",\"warnings\":\"short_pack\"}\n"));
  const auto row = nlohmann::json::parse(line);
  CHECK(row["block_size_tokens"] == 528);
  CHECK(row["page_bytes"] == 2'162'688);
  CHECK(row["recurrent_groups"] == 12);
  CHECK(row["kv_cache_tokens"] == 1'869'659);
  CHECK(row["fits"] == true);
  CHECK(json_rows.heading().empty());

  const SweepRows csv_rows(spec_of(SweepFormat::csv));
  CHECK(csv_rows.heading().starts_with("sweep,points,point,status,model,engine.attention_pack_size,reason,"));
  CHECK(csv_rows.row(point, axes)
            .starts_with(csv_rows.sweep_id() + ",6,3,ok,Qwen3.5-397B-A17B,4,,4,align,0,528,528,2162688,"));
}

TEST_CASE("golden: an impossible point has its reason and no numbers") {
  const SweepPoint point{.point = 0, .status = PointStatus::impossible, .reason = "engine.memory: \"1\", too little"};
  const std::vector<Cell> axes{std::string("x"), std::int64_t{1}};
  const SweepRows csv_rows(spec_of(SweepFormat::csv));
  const std::string line = csv_rows.row(point, axes);
  CHECK(line.starts_with(csv_rows.sweep_id() + ",6,0,impossible,x,1,\"engine.memory: \"\"1\"\", too little\",,,"));
  const auto row = nlohmann::json::parse(SweepRows(spec_of(SweepFormat::jsonl)).row(point, axes));
  CHECK(row["reason"] == "engine.memory: \"1\", too little");
  CHECK(row["num_blocks"].is_null());
  CHECK(row.size() == csv_rows.columns().size());
}

TEST_CASE("law: a row holds the whole of its hit rate, of caches of blocks and of others, and what cannot keep up") {
  SweepPoint blocks{.point = 0, .overloaded = true};
  const auto found = []<class Stats>(Stats stats) {
    stats.taken_prompt_tokens = 400;
    stats.prompt_tokens = 300;
    stats.hit_tokens = 100;
    return IndexStats(stats);
  };
  blocks.stats = found(SimulationStats());
  const SweepPoint tree{.point = 1, .stats = found(TreeStats())};
  SweepRowSpec spec = spec_of(SweepFormat::jsonl);
  spec.simulated = true;
  for (const SweepPoint& point : {blocks, tree}) {
    const auto row = nlohmann::json::parse(SweepRows(spec).row(point, {std::string("x"), std::int64_t{1}}));
    CAPTURE(row.dump());
    CHECK(row["prompt_tokens"] == 300);
    CHECK(row["taken_prompt_tokens"] == 400);
    CHECK(row["hit_rate"] == 0.25);
    CHECK(row["overloaded"] == (point.point == 0 ? nlohmann::json(true) : nlohmann::json()));
  }
  spec.format = SweepFormat::csv;
  CHECK(SweepRows(spec).heading().ends_with(",seconds,taken_prompt_tokens,overloaded,why_no_hits\n"));
  CHECK(SweepRows(spec).row(blocks, {std::string("x"), std::int64_t{1}}).ends_with(",400,true,\n"));
}

TEST_CASE("golden: a row whose replay hit nothing says why") {
  SimulationStats stats;
  stats.geometry.mode = CacheMode::none;
  stats.geometry.state_groups = 1;
  stats.prompt_tokens = stats.taken_prompt_tokens = 300;
  SweepRowSpec spec = spec_of(SweepFormat::jsonl);
  spec.simulated = true;
  const auto why = [&](const std::optional<IndexStats>& replayed, std::optional<std::int64_t> longest_repeat) {
    const SweepPoint point{.point = 0, .stats = replayed, .longest_repeat = longest_repeat};
    return nlohmann::json::parse(
        SweepRows(spec).row(point, {std::string("x"), std::int64_t{1}}))["why_no_hits"];
  };
  CHECK(why(stats, std::nullopt) ==
        "mode none keeps no states, so no prefix is ever found again; modes align and all keep them");
  stats.geometry = {.block_size_tokens = 16, .num_blocks = 9, .attention_groups = 1};
  stats.longest_prompt_tokens = 300;
  CHECK(why(stats, 0) ==
        "the block of 16 tokens hits nothing, nor would any other: no prompt begins like an earlier one");
  stats.hit_tokens = 16;
  CHECK(why(stats, std::nullopt).is_null());
  CHECK(why(TreeStats(), std::nullopt).is_null());
  CHECK(why(std::nullopt, std::nullopt).is_null());
}

TEST_CASE("law: every part of the question changes the identity of the sweep") {
  const SweepRowSpec spec = spec_of(SweepFormat::jsonl);
  const std::string id = SweepRows(spec).sweep_id();
  CHECK(id.size() == 16);
  CHECK(SweepRows(spec).sweep_id() == id);
  std::vector<SweepRowSpec> others(6, spec);
  others[0].axes.pop_back();
  others[1].verified = true;
  others[2].simulated = true;
  others[3].format = SweepFormat::csv;
  others[4].num_points = 7;
  others[5].identity += "?";
  for (const SweepRowSpec& other : others) CHECK(SweepRows(other).sweep_id() != id);
}

TEST_CASE("law: the start of a row reads back") {
  CHECK(rc::check("any point, status and values", [] {
    SweepRowSpec spec = spec_of(*rc::gen::element(SweepFormat::jsonl, SweepFormat::csv));
    spec.num_points = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 62);
    const SweepPoint point{.point = *rc::gen::inRange<std::int64_t>(0, spec.num_points),
                           .status = *rc::gen::element(PointStatus::ok, PointStatus::impossible, PointStatus::fault),
                           .reason = *rc::gen::arbitrary<std::string>()};
    const SweepRows rows(spec);
    const std::string line = rows.row(point, {*rc::gen::arbitrary<std::string>(), std::int64_t{1}});
    RC_ASSERT(line.find('\n') == line.size() - 1);
    const RowStart start{rows.sweep_id(), spec.num_points, point.point, point.status};
    RC_ASSERT(parse_row_start(line, spec.format) == start);
    const std::string first = spec.format == SweepFormat::csv ? rows.heading() : line;
    RC_ASSERT(format_of_first_line(first) == spec.format);
  }));
}

TEST_CASE("edge: what is no start of a row") {
  const std::string good = "0123456789abcdef,6,3,ok,";
  CHECK(parse_row_start(good, SweepFormat::csv).has_value());
  for (const char* bad : {"", ",", "0123456789abcdef", "0123456789abcdef,6,3", "0123456789abcdeg,6,3,ok,",
                          "0123456789abcdef,6,6,ok,", "0123456789abcdef,-6,-7,ok,", "0123456789abcdef,6,3,fine,",
                          "0123456789abcdef,6,x,ok,", "0123456789abcdef,99999999999999999999,3,ok,"}) {
    CAPTURE(bad);
    CHECK(!parse_row_start(bad, SweepFormat::csv));
    CHECK(!parse_row_start(bad, SweepFormat::jsonl));
  }
  CHECK(!format_of_first_line("{\"a\":1}"));
  CHECK(!format_of_first_line(good));
}
