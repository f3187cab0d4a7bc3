// Replays of the conversation trace, request by request, against what a real engine's block manager did.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simulator/simulation.h"
#include "simulator/trace_file.h"
#include "tests/simulator/replay_rows.h"
#include "test_paths.h"

using namespace hybridkv;
using namespace hybridkv::testing;
using nlohmann::json;

namespace {

/// The trace, or nothing after saying that the test is skipped.
std::unique_ptr<TraceFile> conversation_trace(std::int64_t requests) {
  const auto path = find_trace("mooncake_conversation.jsonl", HYBRIDKV_SOURCE_DIR);
  if (!path) {
    std::puts("SKIPPED: mooncake_conversation.jsonl is neither in $HYBRIDKV_TRACE_DIR nor in ../shared/traces");
    return nullptr;
  }
  return std::make_unique<TraceFile>(TraceFileSpec{.path = *path, .max_requests = requests});
}

void check_replay(const CacheGeometry& geometry, const std::string& file) {
  const std::vector<ReplayRow> expected = expected_rows("replay/" + file);
  REQUIRE(expected.size() == 2000);
  if (const auto trace = conversation_trace(2000)) check_rows(replayed_rows(geometry, *trace), expected);
}

/// A finished request as the block files write it.
json block_line(const ActiveRequest& request, const BlockPool& pool, const std::vector<std::int64_t>& chunks) {
  json blocks = json::array();
  for (const auto& table : request.blocks.attention) blocks.push_back(table);
  for (const StateTable& table : request.blocks.states) blocks.push_back(table.with_nulls());
  const RequestRecord& record = request.record;
  return {{"idx", record.index}, {"input_length", record.input_length}, {"hit", record.hit_tokens},
          {"uncached_common", record.uncached_common}, {"chunks", chunks},
          {"status", std::string(to_string(record.status))}, {"block_ids", blocks},
          {"free_blocks_before_free", pool.num_free()}, {"evictions_cum", pool.stats().evictions}};
}

void check_blocks(const CacheGeometry& geometry, const std::string& file, std::size_t lines) {
  std::ifstream in(HYBRIDKV_TEST_DATA "/simulator/replay/" + file);
  REQUIRE(in.is_open());
  std::vector<json> expected;
  for (std::string line; std::getline(in, line);) expected.push_back(json::parse(line));
  REQUIRE(expected.size() == lines);
  const auto trace = conversation_trace(static_cast<std::int64_t>(lines));
  if (!trace) return;
  std::vector<std::int64_t> chunks;
  std::vector<json> found;
  Simulation simulation(geometry);
  simulation.after_schedule = [&] { chunks.push_back(simulation.scheduler().running().front()->scheduled_tokens); };
  simulation.scheduler().before_release = [&](const ActiveRequest& request) {
    found.push_back(block_line(request, simulation.scheduler().cache().pool(), chunks));
    chunks.clear();
  };
  for (TraceBatch batch; trace->next(batch);) simulation.consume(batch);
  simulation.finish();
  REQUIRE(found.size() == lines);
  for (std::size_t i = 0; i < lines; ++i) REQUIRE(found[i] == expected[i]);
}

CacheGeometry replayed(std::int64_t block, std::int64_t blocks, std::int64_t state_groups, CacheMode mode) {
  return {.block_size_tokens = block, .num_blocks = blocks, .state_groups = state_groups, .mode = mode};
}

}  // namespace

TEST_CASE("golden: replay of 2000 requests, attention only, block 512, 2000 blocks") {
  check_replay(replayed(512, 2000, 0, CacheMode::none), "replay_conversation_2000_full_bs512_pool2000.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align, block 528, 2000 blocks") {
  check_replay(replayed(528, 2000, 1, CacheMode::align), "replay_conversation_2000_align_bs528_pool2000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align, block 2096, 20000 blocks") {
  check_replay(replayed(2096, 20000, 1, CacheMode::align), "replay_conversation_2000_align_bs2096_pool20000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align without branch points, block 272, 20000 blocks") {
  CacheGeometry geometry = replayed(272, 20000, 1, CacheMode::align);
  geometry.scheduler.branch_point = false;
  check_replay(geometry, "replay_conversation_2000_align-nomarconi_bs272_pool20000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode all, block 1056, 4000 blocks, 3 recurrent groups") {
  check_replay(replayed(1056, 4000, 3, CacheMode::all), "replay_conversation_2000_all_bs1056_pool4000_g3.csv");
}

TEST_CASE("golden: block ids of a replay, mode align, block 528, 2000 blocks") {
  check_blocks(replayed(528, 2000, 1, CacheMode::align),
               "replay_blocks_conversation_400_align_bs528_pool2000_g1.jsonl", 394);
}

TEST_CASE("golden: block ids of a replay, attention only, block 512, 1000 blocks") {
  check_blocks(replayed(512, 1000, 0, CacheMode::none),
               "replay_blocks_conversation_400_full_bs512_pool1000_g0.jsonl", 396);
}
