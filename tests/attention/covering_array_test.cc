#include "tests/attention/covering_array.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace hybridkv::test {
namespace {

std::vector<Factor> factors_of(const std::vector<std::size_t>& sizes) {
  std::vector<Factor> factors;
  for (const std::size_t size : sizes) factors.push_back({"factor", std::vector<std::string>(size, "value")});
  return factors;
}

/// The last values of the first two factors do not go together.
Excludes last_two(const std::vector<Factor>& factors) {
  return [&factors](const Level& a, const Level& b) {
    return a.factor == 0 && b.factor == 1 && a.value == factors[0].values.size() - 1 &&
           b.value == factors[1].values.size() - 1;
  };
}

TEST_CASE("law: all allowed pairs are covered, excluded ones never, by at most half the product of rows") {
  CHECK(rc::check("pairwise", [] {
    std::vector<std::size_t> sizes{2, 2};
    const auto more = *rc::gen::container<std::vector<std::size_t>>(3, rc::gen::inRange<std::size_t>(2, 6));
    sizes.insert(sizes.end(), more.begin(), more.end());
    const std::vector<Factor> factors = factors_of(sizes);
    const Excludes excludes = last_two(factors);
    const std::vector<Row> rows = covering_rows(factors, excludes, 1);
    std::size_t product = 1;
    for (const std::size_t size : sizes) product *= size;
    RC_ASSERT(uncovered_pairs(factors, excludes, rows).empty());
    RC_ASSERT(rows.size() <= product / 2);
    for (const Row& row : rows) RC_ASSERT(!(row[0] == 1 && row[1] == 1));
    RC_ASSERT(rows == covering_rows(factors, excludes, 1));
    std::mt19937_64 random(2);
    const Row drawn = random_row(factors, excludes, random);
    RC_ASSERT(!(drawn[0] == 1 && drawn[1] == 1));
  }));
}

TEST_CASE("golden: nine rows are enough for four factors of three values, and a row less leaves pairs") {
  const std::vector<Factor> factors = factors_of({3, 3, 3, 3});
  const Excludes nothing = [](const Level&, const Level&) { return false; };
  CHECK(allowed_pairs(factors, nothing).size() == 6 * 9);
  std::vector<Row> rows = covering_rows(factors, nothing, 1);
  CHECK(rows.size() >= 9);
  CHECK(rows.size() <= 14);
  CHECK(uncovered_pairs(factors, nothing, rows).empty());
  rows.pop_back();
  CHECK(!uncovered_pairs(factors, nothing, rows).empty());
}

TEST_CASE("fault: a factor without any value left is a bug of the caller") {
  const std::vector<Factor> factors = factors_of({1, 1});
  std::mt19937_64 random(1);
  const Excludes all = [](const Level&, const Level&) { return true; };
  CHECK_THROWS_AS(random_row(factors, all, random), std::logic_error);
}

}  // namespace
}  // namespace hybridkv::test
