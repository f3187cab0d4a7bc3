// One interface over four indices: what they count alike, and the files of their requests.
#include "simulator/cache_replay.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <variant>

#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/engine_rules.h"
#include "simulator/record_csv.h"
#include "tests/clock/clock_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One cache of each index, with room for all.
std::vector<AnyCache> every_index() {
  CacheGeometry blocks{.name = "blocks", .block_size_tokens = 16, .num_blocks = 500, .state_groups = 1};
  blocks.scheduler.max_model_len = 200;
  return {blocks,
          TreeCache{&rules_of_sglang_0_5_23, "tree", {.token_slots = 5000, .state_slots = 50}, 200},
          SlotCache{&rules_of_llama_cpp, "slots", {.slots = 2, .cells = 5000, .step_tokens = 16}, 200},
          SnapshotCache{&rules_of_tensorrt_llm, "snapshots",
                        {.blocks = 500, .states = 50, .points = {.interval_tokens = 16}}, 200}};
}

}  // namespace

TEST_CASE("law: every index counts the same requests, tells of each once, and loses what it does not find") {
  const TraceBatch batch = batch_of({{{1, 150}}, {{1, 150}}, {{2, 250}}, {{1, 100}, {3, 60}}});
  for (const AnyCache& cache : every_index()) {
    CAPTURE(name_of(cache));
    CHECK(max_model_len_of(cache) == 200);
    std::int64_t told = 0, lost = 0;
    std::vector<std::string> rows;
    SimulationSpec spec{.cache = cache, .losses = true};
    spec.on_record = [&](const RecordView& record, const ReuseLoss* loss) {
      ++told;
      lost += loss->total();
      rows.push_back(record_csv_row(cache, record));
    };
    const std::unique_ptr<CacheReplay> replay = make_replay(spec);
    replay->consume(batch);
    replay->finish();
    const ReplayResult result = replay->result();
    const ReplayCounts& counts = counts_of(result.index);
    CHECK(told == 4);
    CHECK(counts.requests == 4);
    CHECK(counts.too_long == 1);
    CHECK(counts.ended() == 3);
    CHECK(counts.taken_prompt_tokens == 460);
    CHECK(counts.prompt_tokens == 460);
    CHECK(counts.hit_tokens > 0);
    CHECK(counts.hit_tokens <= counts.kv_match_tokens);
    CHECK(counts.hit_rate() == doctest::Approx(static_cast<double>(counts.hit_tokens) / 460));
    CHECK(result.losses->total.found_tokens == counts.hit_tokens);
    CHECK(result.losses->total.total() == lost);
    CHECK(result.losses->total.token_exact_tokens == 149 + 100);
    const std::string_view header = record_csv_header(cache);
    const auto commas = [](std::string_view text) { return std::count(text.begin(), text.end(), ','); };
    CHECK(header.starts_with("idx,input_length,"));
    for (const std::string& row : rows) CHECK(commas(row) == commas(header));
    const auto is_too_long = [](const std::string& row) { return row.ends_with(",too_long"); };
    CHECK(std::count_if(rows.begin(), rows.end(), is_too_long) == 1);
  }
}

TEST_CASE("law: the longest request of every index is set from outside, and longer prompts are turned away") {
  const TraceBatch batch = batch_of({{{1, 150}}, {{2, 60}}});
  for (AnyCache cache : every_index()) {
    CAPTURE(name_of(cache));
    set_max_model_len(cache, 100);
    CHECK(max_model_len_of(cache) == 100);
    const std::unique_ptr<CacheReplay> replay = make_replay({.cache = cache});
    replay->consume(batch);
    replay->finish();
    const ReplayResult result = replay->result();
    CHECK(counts_of(result.index).too_long == 1);
    CHECK(counts_of(result.index).ended() == 1);
  }
}

TEST_CASE("law: by a clock a first token waits for what its prompt has on the host, at the stated rate") {
  // The second prompt sends the first to the host, where the third finds it.
  const TraceBatch batch = batch_of({{{1, 30}}, {{2, 40}}, {{1, 30}, {3, 5}}});
  const TreeCache tree{.rules = &rules_of_sglang_0_5_23, .name = "tree",
                       .settings = {.token_slots = 60, .state_slots = 5, .model_chunk = 4,
                                    .strategy = TreeStrategy::no_buffer, .host = {200, 20}},
                       .loaded = {1000, 64000}};
  const SnapshotCache snapshots{.rules = &rules_of_tensorrt_llm, .name = "snapshots",
                                .settings = {.blocks = 13, .states = 2, .host_blocks = 100, .host_states = 20,
                                             .block_tokens = 4, .points = {.interval_tokens = 8}},
                                .loaded = {4000, 64000}};
  for (const AnyCache& cache : {AnyCache(tree), AnyCache(snapshots)}) {
    CAPTURE(name_of(cache));
    const auto replayed = [&](double bytes_per_second) {
      SimulationSpec spec{.cache = cache, .driver = {.kind = DriverKind::closed_loop}};
      spec.driver.clock = std::make_shared<const StepClock>(some_hybrid(), ClockSplit{}, some_gpu(), Coefficients{});
      spec.driver.loop = {.budget = 2048};
      spec.driver.host_bytes_per_second = bytes_per_second;
      const std::unique_ptr<CacheReplay> replay = make_replay(spec);
      replay->consume(batch);
      replay->finish();
      return replay->result();
    };
    const ReplayResult at_once = replayed(1e30), slowly = replayed(1e6);
    const std::int64_t bytes = std::visit([](const auto& stats) -> std::int64_t {
      if constexpr (requires { stats.loaded_tokens; }) return 1000 * stats.loaded_tokens + 64000 * stats.loaded_states;
      else if constexpr (requires { stats.loaded_blocks; })
        return 4000 * stats.loaded_blocks + 64000 * stats.loaded_states;
      else return 0;
    }, slowly.index);
    CHECK(bytes >= 12000 + 64000);
    CHECK(3 * (slowly.times->first_token.mean() - at_once.times->first_token.mean()) ==
          doctest::Approx(static_cast<double>(bytes) / 1e6));
    CHECK(slowly.uncached->first_token.mean() == at_once.uncached->first_token.mean());
    SimulationSpec wrong{.cache = cache, .driver = {.kind = DriverKind::closed_loop, .host_bytes_per_second = 0}};
    CHECK_THROWS_WITH_AS(make_replay(wrong), "driver.host_bandwidth: must be more than 0, is 0", SpecError);
  }
}

TEST_CASE("rule: who is told what every step computes takes nothing from who books losses") {
  // Three usable blocks of four tokens: the second prompt takes all of them, so the block that the third one shares
  // with the first is gone, which only somebody who has seen it computed can tell.
  const TraceBatch batch = batch_of({{{1, 6}}, {{2, 10}}, {{1, 6}, {3, 1}}});
  SimulationSpec spec{.cache = CacheGeometry{.block_size_tokens = 4, .num_blocks = 4, .state_groups = 0},
                      .losses = true};
  std::vector<std::int64_t> queries;
  spec.on_shape = [&](const std::vector<ShapePart>& parts) {
    for (const ShapePart& part : parts) queries.push_back(part.query);
  };
  const std::unique_ptr<CacheReplay> replay = make_replay(spec);
  replay->consume(batch);
  replay->finish();
  CHECK(queries == std::vector<std::int64_t>{6, 10, 7});
  const ReuseLoss lost = replay->result().losses->total;
  CHECK(lost.of(LossCause::block_tail) == 2);
  CHECK(lost.of(LossCause::kv_evicted) == 4);
  CHECK(lost.total() == 6);
}

TEST_CASE("golden: the row of a request of slots") {
  const SlotRecord record{.index = 3, .input_length = 90, .slot = 1, .hit_tokens = 60, .common_tokens = 70,
                          .checkpoints_made = 2, .checkpoints_used = 1, .checkpoints_dropped = 4};
  const AnyCache slots = every_index()[2];
  CHECK(record_csv_row(slots, &record) == "3,90,1,70,60,2,1,4,ok");
  const SlotRecord refused{.index = 4, .input_length = 900, .status = RequestStatus::refused};
  CHECK(record_csv_row(slots, &refused) == "4,900,,0,0,0,0,0,refused");
}

TEST_CASE("fault: settings and drivers that an index does not have are refused at their path") {
  const std::vector<AnyCache> caches = every_index();
  const auto path_of = [](const SimulationSpec& spec) -> std::string {
    try {
      check_replay(spec);
    } catch (const SpecError& error) {
      CHECK_THROWS_AS(make_replay(spec), SpecError);
      return error.path();
    }
    return "";
  };
  for (const AnyCache& cache : caches) CHECK(path_of({.cache = cache}).empty());
  const DriverSpec one{.kind = DriverKind::closed_loop, .in_flight = 1}, two{DriverKind::closed_loop, 2, {}};
  CHECK(path_of({.cache = caches[0], .driver = two}).empty());
  CHECK(path_of({.cache = caches[1], .driver = one}).empty());
  CHECK(path_of({.cache = caches[1], .driver = two}).empty());
  CHECK(path_of({.cache = caches[1], .driver = {.kind = DriverKind::open_loop}}) == "simulate.driver");
  CHECK(path_of({.cache = caches[2], .driver = one}) == "simulate.driver");
  AnyCache blocks = caches[0], tree = caches[1], slots = caches[2];
  std::get<CacheGeometry>(blocks).num_blocks = 1;
  std::get<TreeCache>(tree).settings.page = 0;
  std::get<SlotCache>(slots).settings.slots = 0;
  CHECK(path_of({.cache = blocks}) == "geometry.num_blocks");
  CHECK(path_of({.cache = tree}) == "radix.page");
  CHECK(path_of({.cache = slots}) == "slots.slots");
}
