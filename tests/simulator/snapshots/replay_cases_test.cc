// Chats and conversations replayed as TensorRT-LLM's own text ran them, request by request and column by column.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

namespace {

using nlohmann::json;

struct CasePrompt {
  TraceRequest request;
  std::vector<TokenRun> runs;
};

struct EngineCase {
  const char* name;
  std::int64_t states, blocks;
  SnapshotPoints points;
  bool decodes = false;
  std::int64_t chunk_tokens = 8192;
  bool partial_reuse = true;
  std::int64_t host_states = 0, host_blocks = 0;
};

const std::vector<EngineCase>& engine_cases() {
  static const std::vector<EngineCase> cases{
      {"chat_end0_397B", 248, 62'668, {0, {}, {0}, false}},
      {"end0_397B", 248, 62'668, {0, {}, {0}, false}},
      {"chat_end0_branch_397B", 248, 62'668, {0, {}, {0}, true}},
      {"branch_397B", 248, 62'668, {0, {}, {0}, true}},
      {"branch_only_397B", 248, 62'668, {0, {}, {}, true}},
      {"end0_512_397B", 248, 62'668, {0, {}, {0, 512}, false}},
      {"i8192_end0_397B", 248, 62'668, {8192, {}, {0}, false}},
      {"i2048_397B", 248, 62'668, {2048, {}, {}, false}},
      {"i256_397B", 248, 62'668, {256, {}, {}, false}},
      {"default_397B", 145, 72'908, {}},
      {"branch_nano30B", 870, 219'477, {0, {}, {0}, true}},
      {"i512_S1000_B40k", 1000, 40'000, {512, {}, {}, false}},
      {"i1000_partial_S400_B50k", 400, 50'000, {1000, {}, {}, false}},
      {"i1000_nopartial_S400_B50k", 400, 50'000, {1000, {}, {}, false}, false, 8192, false},
      {"branch_S12_B6k", 12, 6'000, {0, {}, {0}, true}},
      {"i4096_c2048_S60_B20k", 60, 20'000, {4096, {}, {}, false}, false, 2048},
      {"i2048_decode_S200_B30k", 200, 30'000, {2048, {}, {}, false}, true},
      {"start_end_branch_S300_B60k", 300, 60'000, {0, {512, 1000}, {0, 100}, true}},
      {"chat_end0_S100_B4k", 100, 4'000, {0, {}, {0}, false}},
      {"chat_end0_nopartial_S100_B4k", 100, 4'000, {0, {}, {0}, false}, false, 8192, false},
      {"chat_end0_32_S40_B2k", 40, 2'000, {0, {}, {0, 32}, false}},
      {"chat_branch_S60_B3k", 60, 3'000, {0, {}, {}, true}},
      {"chat_decode_S20_B1200", 20, 1'200, {0, {}, {0}, true}, true},
      {"chat_i100_S30_B900", 30, 900, {100, {}, {}, false}},
      {"chat_S3_B700", 3, 700, {512, {}, {0, 64}, false}},
      {"host_i2048_S40_B8k", 40, 8'000, {2048, {}, {}, true}, false, 8192, true, 200, 40'000},
      {"host_branch_S30_B12k", 30, 12'000, {0, {}, {0}, true}, false, 8192, true, 30, 12'000},
      {"chat_host_S20_B900", 20, 900, {0, {}, {0}, true}, false, 8192, true, 60, 3'000}};
  return cases;
}

/// Prompts of a file of JSON lines: segments of a chat, or ids of 512 tokens each of a trace.
std::vector<CasePrompt> prompts_of(const std::string& path, std::size_t most) {
  std::vector<CasePrompt> prompts;
  std::ifstream file(path);
  for (std::string line; prompts.size() < most && std::getline(file, line);) {
    const json row = json::parse(line);
    const auto length = row.at("input_length").get<std::int64_t>();
    Segments segments;
    if (row.contains("segments"))
      for (const json& one : row.at("segments")) segments.emplace_back(one[0].get<std::uint64_t>(), one[1]);
    else
      for (const json& id : row.at("hash_ids")) segments.emplace_back(id.get<std::uint64_t>() * 512, 512);
    prompts.push_back({{.index = std::ssize(prompts), .input_length = length, .output_length = row.at("output_length")},
                       runs_of(segments, length)});
  }
  return prompts;
}

/// Rows that differ; columns that a row leaves empty are not compared.
int differing_rows(const EngineCase& one, const std::string& path, const std::vector<CasePrompt>& prompts,
                   bool evicts_alone) {
  SnapshotReplay replay({.blocks = one.blocks, .states = one.states, .host_blocks = one.host_blocks,
                         .host_states = one.host_states, .chunk_tokens = one.chunk_tokens, .points = one.points,
                         .partial_reuse = one.partial_reuse, .evicts_alone = evicts_alone, .decodes = one.decodes});
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  int differing = 0;
  for (std::size_t i = 0; std::getline(file, line); ++i) {
    REQUIRE(i < prompts.size());
    const std::vector<std::string> want = fields_of_line(line);
    const SnapshotRecord& record = replay.run(prompts[i].request, prompts[i].runs);
    const std::string row = snapshot_csv_row(record);
    const std::vector<std::string> have = fields_of_line(row);
    bool equal = have.back() == want.back();
    if (one.host_blocks > 0)
      equal = equal && fmt::to_string(record.free_host_blocks) == want[16] &&
              fmt::to_string(record.free_host_states) == want[17];
    for (std::size_t column = 0; column < 16; ++column)  // the tree's own are those of every tenth row
      equal = equal && (have[column] == want[column] || (column >= 13 && want[column].empty()));
    if (!equal && differing++ < 2) FAIL_CHECK(path << "\n" << line << "\n" << row);
  }
  return differing;
}

}  // namespace

TEST_CASE("golden: every row of the engine's replays, before and after PR 17323") {
  const char* traces = std::getenv("HYBRIDKV_TRACE_DIR");
  const std::vector<CasePrompt> chats = prompts_of(snapshot_case_path("chats.jsonl"), 1000);
  const std::vector<CasePrompt> conversations =
      prompts_of(traces ? std::string(traces) + "/mooncake_conversation.jsonl" : "", 250);
  CHECK(chats.size() == 600);
  int compared = 0;
  for (const EngineCase& one : engine_cases())
    for (const bool evicts_alone : {true, false}) {
      const std::string path = snapshot_case_path(fmt::format("replay_{}{}.csv", evicts_alone ? "" : "old_", one.name));
      const bool is_chat = std::string(one.name).starts_with("chat");
      const std::vector<CasePrompt>& prompts = is_chat ? chats : conversations;
      if (path.empty() || prompts.empty()) continue;
      CAPTURE(path);
      CHECK(differing_rows(one, path, prompts, evicts_alone) == 0);
      ++compared;
    }
  CHECK(compared >= 4);
}

}  // namespace hybridkv::test
