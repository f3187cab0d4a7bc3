#include "simulator/pool/block_records.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>

namespace hybridkv {

TEST_CASE("law: rows of records say what was written, and take memory for that alone") {
  constexpr std::size_t page = 24, pages = 200;  // pages that begin inside rows
  std::mt19937 dice(7);
  RowRecords<int> records;
  records.extend(pages * page);
  std::map<std::size_t, int> written;
  for (int turn = 1; turn < 20000; ++turn) {
    const std::size_t first = dice() % pages * page;
    if (written.size() >= 10 || dice() % 2 == 0) {
      records.clear(first, page);
      written.erase(written.lower_bound(first), written.lower_bound(first + page));
    } else {
      const std::size_t block = first + dice() % page;
      records.edit(block) = written[block] = turn;
    }
    for (std::size_t block = first; block < first + page; ++block)
      REQUIRE(std::as_const(records)[block] == (written.contains(block) ? written[block] : 0));
    REQUIRE(records.num_kept() <= written.size() * RowRecords<int>::row_blocks);
  }
  CHECK(records.size() == pages * page);
  records.clear(0, pages * page);
  CHECK(records.num_kept() == 0);
}

TEST_CASE("edge: a row of records goes once all its records say nothing") {
  RowRecords<int> records;
  for (int block = 0; block < 1000; ++block) records.add();
  CHECK(records.num_kept() == 0);
  for (const std::size_t block : {710, 715, 720}) records.edit(block) = 1;
  const std::size_t kept = records.num_kept();
  CHECK(kept > 0);
  for (const std::size_t block : {710, 720, 715}) {
    CHECK(records.num_kept() == kept);
    records.edit(block) = 0;
    records.close_if_empty(block);
  }
  CHECK(records.num_kept() == 0);
  records.edit(999) = 5;
  const RowRecords<int> moved(std::move(records));
  CHECK(moved[999] == 5);
  CHECK(moved[998] == 0);
}

}  // namespace hybridkv
