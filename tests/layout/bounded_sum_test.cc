#include "layout/bounded_sum.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <set>

#include "base/error.h"

namespace hybridkv {
namespace {

/// Every sum that can be reached, written out.
std::set<std::int64_t> sums_of(const std::vector<BoundedTerm>& terms) {
  std::set<std::int64_t> sums{0};
  for (const BoundedTerm& term : terms) {
    std::set<std::int64_t> longer;
    for (const std::int64_t sum : sums)
      for (std::int64_t x = 0; x <= term.bound; ++x) longer.insert(sum + term.coefficient * x);
    sums = std::move(longer);
  }
  return sums;
}

/// Whether the x of a result lie inside their bounds and make the target.
bool proves(const BoundedSum& result, const std::vector<BoundedTerm>& terms, std::int64_t target) {
  if (result.x.size() != terms.size()) return false;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (result.x[i] < 0 || result.x[i] > terms[i].bound) return false;
    sum += terms[i].coefficient * result.x[i];
  }
  return sum == target;
}

TEST_CASE("law: every target is answered as by writing out all sums, and yes is proven") {
  int num_yes = 0, num_no = 0;
  CHECK(rc::check("bounded sums", [&] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 6);
    std::vector<BoundedTerm> terms;
    for (std::size_t i = 0; i < count; ++i)
      terms.push_back({*rc::gen::inRange<std::int64_t>(0, 40), *rc::gen::inRange<std::int64_t>(0, 6)});
    const std::set<std::int64_t> sums = sums_of(terms);
    for (std::int64_t target = -2; target <= *sums.rbegin() + 2; ++target) {
      const BoundedSum result = find_bounded_sum(terms, target);
      const bool is_reachable = sums.contains(target);
      RC_ASSERT(result.reachable == (is_reachable ? Answer::yes : Answer::no));
      RC_ASSERT((is_reachable ? proves(result, terms, target) : result.x.empty()));
      ++(result.reachable == Answer::yes ? num_yes : num_no);
    }
  }));
  CHECK(num_yes > 500);
  CHECK(num_no > 500);
}

TEST_CASE("law: rows of millions of pages need no search") {
  constexpr std::int64_t million = 1000000, page = 2211840;
  const std::vector<BoundedTerm> terms{{page, 40 * million}, {page, 40 * million}, {1, 255}, {2, 127}, {512, 431}};
  const auto answer = [&](std::int64_t target) { return find_bounded_sum(terms, target, 3); };
  const std::int64_t within = 70 * million * page + 200000;
  REQUIRE(answer(within).reachable == Answer::yes);
  CHECK(proves(answer(within), terms, within));
  CHECK(answer(70 * million * page + 255 + 254 + 512 * 431).reachable == Answer::yes);
  CHECK(answer(70 * million * page + 255 + 254 + 512 * 431 + 1).reachable == Answer::no);
}

TEST_CASE("edge: a row that just closes the gap costs one node, a target no divisor allows costs none") {
  const std::vector<BoundedTerm> closing{{1, 9}, {10, 1000000}};
  CHECK(proves(find_bounded_sum(closing, 1234567, 1), closing, 1234567));
  CHECK(find_bounded_sum(std::vector<BoundedTerm>{{6, 100}, {10, 100}}, 777, 0).reachable == Answer::no);
  CHECK(find_bounded_sum(std::vector<BoundedTerm>{{6, 100}, {10, 100}}, 778, 0).reachable == Answer::unknown);
}

TEST_CASE("edge: two large coefficients without common factor are settled by arithmetic") {
  constexpr std::int64_t a = 1000003, b = 2000003, bound = 1500000;
  const std::vector<BoundedTerm> terms{{a, bound}, {b, bound}};
  for (const std::int64_t target : {a * 1234567 + b * 7, a * 1 + b * 999999, a * bound + b * bound})
    CHECK(proves(find_bounded_sum(terms, target, 2), terms, target));
  CHECK(find_bounded_sum(terms, a * b - a - b, 2).reachable == Answer::no);
}

TEST_CASE("edge: a search that runs out of nodes says unknown, never no") {
  std::vector<BoundedTerm> terms;
  for (std::int64_t coefficient : {999983, 999979, 999961, 999959, 999953, 999931, 999917})
    terms.push_back({coefficient * 1000, 300});
  const std::int64_t target = 777777777000;
  CHECK(find_bounded_sum(terms, target, 0).reachable == Answer::unknown);
  const BoundedSum longer = find_bounded_sum(terms, target);
  CHECK((longer.reachable != Answer::no && (longer.reachable == Answer::unknown || proves(longer, terms, target))));
}

TEST_CASE("edge: of two values as far from their share as each other the larger one is tried first") {
  // 44 of at most 4 + 50 + 24 leaves one 12 as the share of its row. 44 - 12 = 32 is none of the tens with or without
  // a 4; 44 - 24 = 20 is one, and so is 44 - 0 = 4 + 40.
  const std::vector<BoundedTerm> terms{{4, 1}, {10, 5}, {12, 2}};
  CHECK(find_bounded_sum(terms, 44).x == std::vector<std::int64_t>{0, 2, 2});
}

TEST_CASE("edge: sums past 64 bits and negative terms are refused") {
  constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max() / 2;
  CHECK_THROWS_AS(find_bounded_sum(std::vector<BoundedTerm>{{big, 2}, {big - 1, 1}}, 5), InputError);
  CHECK_THROWS_AS(find_bounded_sum(std::vector<BoundedTerm>{{-1, 2}}, 5), std::logic_error);
  CHECK_THROWS_AS(find_bounded_sum(std::vector<BoundedTerm>{{1, -2}}, 5), std::logic_error);
  CHECK(find_bounded_sum(std::vector<BoundedTerm>{{big, 1}, {big - 1, 1}}, 2 * big - 1).reachable == Answer::yes);
  CHECK(find_bounded_sum({}, 0).reachable == Answer::yes);
  CHECK(find_bounded_sum({}, 1).reachable == Answer::no);
}

}  // namespace
}  // namespace hybridkv
