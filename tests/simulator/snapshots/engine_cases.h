#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "simulator/snapshots/snapshot_replay.h"
#include "test_paths.h"

namespace hybridkv::test {

/// Ids of tokens side by side: the first, and how many.
using Segments = std::vector<std::pair<std::uint64_t, std::int64_t>>;

/// The first `length` tokens as runs. Segments whose ids go on are one run, so that content is told by its ids alone.
inline std::vector<TokenRun> runs_of(const Segments& segments, std::int64_t length) {
  std::vector<TokenRun> runs;
  std::uint64_t next = 0;
  std::int64_t end = 0;
  for (const auto& [id, count] : segments) {
    const std::int64_t tokens = std::min(count, length - end);
    if (tokens <= 0) break;
    if (runs.empty() || id != next)
      runs.push_back({end, extend_chain(runs.empty() ? empty_chain : runs.back().chain, id, end)});
    end += tokens;
    runs.back().end_token = end;
    next = id + static_cast<std::uint64_t>(tokens);
  }
  return runs;
}

/// The fields of a line of CSV.
inline std::vector<std::string> fields_of_line(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> fields;
  std::istringstream stream(line + ",");
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

/// A file of the engine's results, from the tests' own data, else from the folder that HYBRIDKV_CASES_DIR names; empty
/// where there is none.
inline std::string snapshot_case_path(const std::string& name) {
  const std::string own = HYBRIDKV_TEST_DATA "/tensorrt-llm/" + name;
  if (std::filesystem::exists(own)) return own;
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  const std::string path = folder ? std::string(folder) + "/tensorrt-llm/" + name : "";
  return !path.empty() && std::filesystem::exists(path) ? path : "";
}

}  // namespace hybridkv::test
