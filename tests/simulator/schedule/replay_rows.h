#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace.h"
#include "test_paths.h"

namespace hybridkv::testing {

/// One request as the replay files write it.
struct ReplayRow {
  std::int64_t index, input_length, hit_tokens, num_chunks, uncached_common, evictions;
  std::string status;
  bool operator==(const ReplayRow&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const ReplayRow& row) {
  return out << row.index << ',' << row.input_length << ',' << row.hit_tokens << ',' << row.num_chunks << ','
             << row.uncached_common << ',' << row.evictions << ',' << row.status;
}

/// The next line of a file, whichever system's line ends it has; false at the end.
inline bool next_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

/// The rows of a CSV file.
inline std::vector<ReplayRow> rows_of_file(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in.is_open());
  std::string line;
  REQUIRE(next_line(in, line));
  REQUIRE(line == "idx,input_length,hit_tokens,num_chunks,num_uncached_common_prefix_tokens,evictions,status");
  std::vector<ReplayRow> rows;
  while (next_line(in, line)) {
    ReplayRow row;
    char comma = 0;
    std::istringstream fields(line);
    fields >> row.index >> comma >> row.input_length >> comma >> row.hit_tokens >> comma >> row.num_chunks >> comma >>
        row.uncached_common >> comma >> row.evictions >> comma >> row.status;
    rows.push_back(row);
  }
  return rows;
}

/// The rows of a CSV file in tests/data/simulator.
inline std::vector<ReplayRow> expected_rows(const std::string& file) {
  return rows_of_file(HYBRIDKV_TEST_DATA "/simulator/" + file);
}

/// What a simulation makes of a trace, request by request.
inline std::vector<ReplayRow> replayed_rows(const CacheGeometry& geometry, TraceSource& trace) {
  std::vector<ReplayRow> rows;
  Simulation simulation(geometry, {}, [&](const RequestRecord& r) {
    rows.push_back({r.index, r.input_length, r.hit_tokens, r.num_chunks, r.uncached_common, r.evictions,
                    std::string(to_string(r.status))});
  });
  for (TraceBatch batch; trace.next(batch);) simulation.consume(batch);
  CHECK(simulation.finish().modelled.empty());
  return rows;
}

/// Checks that both are the same, and shows the first rows that are not.
inline void check_rows(const std::vector<ReplayRow>& rows, const std::vector<ReplayRow>& expected) {
  REQUIRE(rows.size() == expected.size());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!(rows[i] == expected[i]) && ++different <= 5) CHECK(rows[i] == expected[i]);
  CHECK(different == 0);
}

}  // namespace hybridkv::testing
