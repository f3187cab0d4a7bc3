// Replays of the conversation trace with the rules of vLLM 0.33, request by request, against what its own functions
// did.
#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "simulator/schedule/simulation.h"
#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/schedule/replay_trace.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

void check_replay(const CacheGeometry& geometry, const std::string& file) {
  const auto path = case_033(file);
  if (!path) return;
  const std::vector<ReplayRow> expected = rows_of_file(*path);
  REQUIRE(expected.size() >= 400);
  if (const auto trace = conversation_trace(std::ssize(expected)))
    check_rows(replayed_rows(geometry, *trace), expected);
}

/// States exported inside chunks, at multiples of `alignment` from their start.
CacheGeometry exporting_033(CacheGeometry geometry, std::int64_t alignment) {
  geometry.rules.checkpoint_blocks = 1;
  geometry.rules.checkpoint_alignment = alignment;
  return geometry;
}

CacheGeometry retaining(CacheGeometry geometry, std::optional<std::int64_t> interval) {
  geometry.retention_interval_tokens = interval;
  return geometry;
}

CacheGeometry matching(CacheGeometry geometry, std::int64_t unit) {
  geometry.match_unit_tokens = unit;
  return geometry;
}

}  // namespace

TEST_CASE("golden: 0.33 replays 2000 requests, attention only, block 512") {
  check_replay(geometry_033(512, 2000, 0), "replay_033_conversation_2000_full_bs512_pool2000.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, a window beside full attention") {
  CacheGeometry geometry = geometry_033(16, 20000, 0);
  geometry.attention_groups = 2;
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 128}};
  check_replay(geometry, "replay_033_conversation_2000_swa128_bs16_pool20000_R0.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, mode none") {
  CacheGeometry geometry = geometry_033(2096, 2000, 3);
  geometry.mode = CacheMode::none;
  check_replay(geometry, "replay_033_conversation_2000_none_bs2096_pool2000_g3.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, block 16") {
  check_replay(geometry_033(16, 20000, 1), "replay_033_conversation_2000_align_bs16_pool20000_g1_R0.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, block 528") {
  check_replay(geometry_033(528, 2000, 1), "replay_033_conversation_2000_align_bs528_pool2000_g1_R0.csv");
  check_replay(geometry_033(528, 2000, 1), "replay_033_conversation_400_align_bs528_pool2000_g1_R0.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, retention interval 8448") {
  check_replay(retaining(geometry_033(1056, 2000, 1), 8448),
               "replay_033_conversation_2000_align_bs1056_pool2000_g1_R8448.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, block 2096, last states only") {
  check_replay(geometry_033(2096, 20000, 3), "replay_033_conversation_2000_align_bs2096_pool20000_g3_R0.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, block 2096, all states") {
  check_replay(retaining(geometry_033(2096, 20000, 3), std::nullopt),
               "replay_033_conversation_2000_align_bs2096_pool20000_g3_Rnone.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, states exported inside chunks") {
  check_replay(exporting_033(geometry_033(2112, 20000, 3), 2112),
               "replay_033_conversation_2000_align_bs2112_pool20000_g3_R0_ck.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, states exported at a match unit of 64") {
  check_replay(matching(exporting_033(geometry_033(2112, 20000, 3), 64), 64),
               "replay_033_conversation_2000_align_bs2112_pool20000_g3_h64_R0_ck.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, a drafter that drops a block") {
  CacheGeometry geometry = exporting_033(geometry_033(2112, 2000, 3), 2112);
  geometry.speculative_tokens = 1;
  geometry.drafter_drops_block = true;
  check_replay(geometry, "replay_033_conversation_2000_align_bs2112_pool2000_g3_s1_drop_R0_ck.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, match unit 16, all states") {
  check_replay(matching(retaining(geometry_033(528, 2000, 1), std::nullopt), 16),
               "replay_033_conversation_2000_align_bs528_pool2000_g1_h16_Rnone.csv");
}

TEST_CASE("golden: 0.33 replays 2000 requests, a budget below the block") {
  CacheGeometry geometry = geometry_033(8320, 2000, 1);
  geometry.max_num_batched_tokens = 4096;
  check_replay(geometry, "replay_033_conversation_2000_align_bs8320_pool2000_g1_R0_budget4096.csv");
}

TEST_CASE("golden: block ids of 400 requests in 0.33") {
  if (const auto path = case_033("replay_033_blocks_conversation_400_align_bs528_pool2000_g1_R0.jsonl"))
    check_blocks(geometry_033(528, 2000, 1), *path, 400);
}

namespace {

/// What the scheduler did with one request, as its files write it.
struct StepsRow {
  std::int64_t first_step = 0, last_step = 0;
  RequestRecord record;
  std::string line() const {
    std::ostringstream out;
    out << record.index << ',' << record.input_length << ',' << record.output_length << ',' << record.hit_tokens << ','
        << first_step << ',' << last_step << ',' << record.num_chunks << ',' << record.preemptions;
    return out.str();
  }
};

void check_schedule(CacheGeometry geometry, const std::string& file) {
  const auto path = case_033(file);
  if (!path) return;
  std::ifstream in(*path);
  std::string line;
  REQUIRE(next_line(in, line));
  REQUIRE(line == "idx,input_length,output_length,hit_tokens,first_step,last_step,prefill_chunks,preemptions");
  std::vector<std::string> expected;
  while (next_line(in, line)) expected.push_back(line);
  const auto trace = conversation_trace(std::ssize(expected));
  if (!trace) return;
  std::map<std::int64_t, StepsRow> rows;
  std::int64_t step = 0;
  geometry.scheduler.max_num_seqs = 16;
  Simulation simulation(geometry, {.kind = DriverKind::closed_loop, .in_flight = 16}, [&](const RequestRecord& record) {
    rows[record.index].last_step = step;
    rows[record.index].record = record;
  });
  simulation.after_schedule = [&] {
    ++step;
    for (const auto& request : simulation.scheduler().running()) {
      StepsRow& row = rows[request->record.index];
      if (row.first_step == 0) row.first_step = step;
    }
  };
  for (TraceBatch batch; trace->next(batch);) simulation.consume(batch);
  simulation.finish();
  REQUIRE(rows.size() == expected.size());
  std::int64_t different = 0;
  for (const auto& [index, row] : rows)
    if (row.line() != expected[static_cast<std::size_t>(index)] && ++different <= 5)
      CHECK(row.line() == expected[static_cast<std::size_t>(index)]);
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("golden: 0.33 schedules 16 requests at a time") {
  check_schedule(geometry_033(528, 2000, 1),
                 "replay_033_sched_conversation_400_align_bs528_pool2000_g1_R0_inflight16_outtrace.csv");
}

TEST_CASE("golden: 0.33 schedules 16 requests at a time, states exported inside chunks") {
  check_schedule(exporting_033(geometry_033(2112, 2000, 3), 2112),
                 "replay_033_sched_conversation_400_align_bs2112_pool2000_g3_R0_ck_inflight16_outtrace.csv");
}
