#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/line_reader.h"
#include "test_paths.h"

namespace hybridkv::testing {

/// Lines of a compressed file of SGLang 0.5.23's own results, without its head, which must be `head`.
inline std::vector<std::string> tree_case(const std::string& file, const std::string& head) {
  LineReader reader(open_bytes(HYBRIDKV_TEST_DATA "/sglang-0.5.23/simulator/" + file + ".gz"));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(line->substr(0, line->find('\r')));
  REQUIRE(!lines.empty());
  REQUIRE(lines.front() == head);
  lines.erase(lines.begin());
  return lines;
}

/// Checks that both are the same, and shows the first lines that are not.
inline void check_lines(const std::vector<std::string>& lines, const std::vector<std::string>& expected) {
  REQUIRE(lines.size() == expected.size());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i] != expected[i] && ++different <= 5) CHECK(lines[i] == expected[i]);
  CHECK(different == 0);
}

}  // namespace hybridkv::testing
