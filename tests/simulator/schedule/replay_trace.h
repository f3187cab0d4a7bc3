#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace_file.h"
#include "test_paths.h"
#include "tests/simulator/schedule/replay_rows.h"

namespace hybridkv::testing {

/// The trace, or nothing after saying that the test is skipped.
inline std::unique_ptr<TraceFile> conversation_trace(std::int64_t requests) {
  const auto path = find_trace("mooncake_conversation.jsonl", HYBRIDKV_SOURCE_DIR);
  if (!path) {
    std::puts("SKIPPED: mooncake_conversation.jsonl is neither in $HYBRIDKV_TRACE_DIR nor in ../shared/traces");
    return nullptr;
  }
  return std::make_unique<TraceFile>(TraceFileSpec{.path = *path, .max_requests = requests});
}

/// A finished request as the block files write it.
inline nlohmann::json block_line(const ActiveRequest& request, const BlockArena& pool,
                                 const std::vector<std::int64_t>& chunks) {
  nlohmann::json blocks = nlohmann::json::array();
  for (const auto& table : request.blocks.attention) blocks.push_back(table);
  for (const StateTable& table : request.blocks.states) blocks.push_back(table.with_nulls());
  const RequestRecord& record = request.record;
  return {{"idx", record.index}, {"input_length", record.input_length}, {"hit", record.hit_tokens},
          {"uncached_common", record.uncached_common}, {"chunks", chunks},
          {"status", std::string(to_string(record.status))}, {"block_ids", blocks},
          {"free_blocks_before_free", pool.num_free()}, {"evictions_cum", pool.stats().evictions}};
}

/// Checks chunks, block ids and evictions of the first `lines` requests against a file of those.
inline void check_blocks(const CacheGeometry& geometry, const std::string& file, std::size_t lines) {
  std::ifstream in(file);
  REQUIRE(in.is_open());
  std::vector<nlohmann::json> expected;
  for (std::string line; std::getline(in, line);) expected.push_back(nlohmann::json::parse(line));
  REQUIRE(expected.size() == lines);
  const auto trace = conversation_trace(static_cast<std::int64_t>(lines));
  if (!trace) return;
  std::vector<std::int64_t> chunks;
  std::vector<nlohmann::json> found;
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

}  // namespace hybridkv::testing
