#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "test_paths.h"

namespace hybridkv::test {

using Row = std::map<std::string, std::string>;  ///< cells by column

inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

/// Rows of a file of tests/data/scenarios; no cell holds a comma.
inline std::vector<Row> rows_of(const std::string& name) {
  std::ifstream file(std::string(HYBRIDKV_TEST_DATA "/scenarios/") + name);
  REQUIRE(file.is_open());
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = cells_of(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    REQUIRE(cells.size() == columns.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) rows.back()[columns[i]] = cells[i];
  }
  return rows;
}

}  // namespace hybridkv::test
