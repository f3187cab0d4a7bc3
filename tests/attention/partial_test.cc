#include "attention/partial.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace hybridkv {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Scores and values of a few keys for one token and head with 3 channels.
struct Keys {
  std::vector<double> scores;
  std::vector<double> values;
};

Keys some_keys() {
  Keys keys;
  keys.scores = *rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-100000, 100000), [](int score) { return score / 1000.0; }));
  const auto count = keys.scores.size() * 3;
  keys.values = *rc::gen::container<std::vector<double>>(
      count, rc::gen::map(rc::gen::inRange(-1000, 1000), [](int value) { return value / 250.0; }));
  return keys;
}

/// Straight from the definition of the triple, over keys [first, last).
Partial<double> partial_of(const Keys& keys, std::size_t first, std::size_t last) {
  Partial<double> partial(1, 1, 3);
  for (std::size_t i = first; i < last; ++i) partial.max[0] = std::max(partial.max[0], keys.scores[i]);
  for (std::size_t i = first; i < last; ++i) {
    const double weight = std::exp(keys.scores[i] - partial.max[0]);
    partial.sum[0] += weight;
    for (std::size_t c = 0; c < 3; ++c) partial.weighted[c] += weight * keys.values[i * 3 + c];
  }
  return partial;
}
Partial<double> partial_of(const Keys& keys) { return partial_of(keys, 0, keys.scores.size()); }

Partial<double> merged(Partial<double> a, const Partial<double>& b) {
  merge(a, b);
  return a;
}

bool same(const Partial<double>& a, const Partial<double>& b) {
  return a.weighted == b.weighted && a.max == b.max && a.sum == b.sum;
}

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)});
}
bool close(const Partial<double>& a, const Partial<double>& b) {
  for (std::size_t c = 0; c < 3; ++c)
    if (!close(a.weighted[c], b.weighted[c])) return false;
  return a.max == b.max && close(a.sum[0], b.sum[0]);
}

TEST_CASE("law: (0, -inf, 0) is the identity of the merge") {
  const Partial<double> identity(1, 1, 3);
  CHECK(rc::check("identity", [&] {
    const Partial<double> a = partial_of(some_keys());
    RC_ASSERT(same(merged(a, identity), a));
    RC_ASSERT(same(merged(identity, a), a));
    RC_ASSERT(same(merge_all<double>(std::vector{identity, a, identity}), a));
  }));
  CHECK(same(merged(identity, identity), identity));
  CHECK(identity.max[0] == -infinity);
}

TEST_CASE("law: the merge is commutative, exactly") {
  CHECK(rc::check("a b == b a", [] {
    const Partial<double> a = partial_of(some_keys()), b = partial_of(some_keys());
    RC_ASSERT(same(merged(a, b), merged(b, a)));
  }));
}

TEST_CASE("law: the merge is associative, up to rounding") {
  CHECK(rc::check("(a b) c == a (b c)", [] {
    const Partial<double> a = partial_of(some_keys()), b = partial_of(some_keys()), c = partial_of(some_keys());
    RC_ASSERT(close(merged(merged(a, b), c), merged(a, merged(b, c))));
  }));
}

TEST_CASE("law: keys may be split anywhere, online equals offline equals all at once") {
  CHECK(rc::check("split anywhere", [] {
    const Keys keys = some_keys();
    const std::size_t count = keys.scores.size();
    const auto cut = rc::gen::inRange<std::size_t>(0, count + 1);
    std::vector<std::size_t> cuts = *rc::gen::container<std::vector<std::size_t>>(cut);
    cuts.push_back(0);
    cuts.push_back(count);
    std::sort(cuts.begin(), cuts.end());
    std::vector<Partial<double>> parts;
    Partial<double> online(1, 1, 3);
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      parts.push_back(partial_of(keys, cuts[i], cuts[i + 1]));
      merge(online, parts.back());
    }
    RC_ASSERT(close(online, partial_of(keys)));
    RC_ASSERT(close(merge_all<double>(parts), partial_of(keys)));
    const AttentionOutput<double> whole = finish(partial_of(keys)), split = finish(online);
    RC_ASSERT(close(whole.lse[0], split.lse[0]));
    for (std::size_t c = 0; c < 3; ++c) RC_ASSERT(close(whole.out[c], split.out[c]));
  }));
}

TEST_CASE("fault: a merge that forgets to rescale breaks the laws") {
  const Keys keys{{1.0, 3.0}, {1, 2, 3, 4, 5, 6}};
  const Partial<double> a = partial_of(keys, 0, 1), b = partial_of(keys, 1, 2);
  Partial<double> careless = a;
  careless.sum[0] += b.sum[0];
  careless.max[0] = std::max(a.max[0], b.max[0]);
  for (std::size_t c = 0; c < 3; ++c) careless.weighted[c] += b.weighted[c];
  CHECK_FALSE(close(careless, partial_of(keys)));
  CHECK(close(merged(a, b), partial_of(keys)));
}

TEST_CASE("edge: a row without keys gives 0 and minus infinity, one key gives its V, NaN is not lost") {
  const AttentionOutput<double> nothing = finish(Partial<double>(2, 2, 3));
  CHECK(nothing.out == std::vector<double>(12));
  CHECK(nothing.lse == std::vector<double>(4, -infinity));

  const AttentionOutput<double> one = finish(partial_of({{-1e4}, {0.1, -7.25, 1e30}}));
  CHECK(one.out == std::vector<double>{0.1, -7.25, 1e30});
  CHECK(one.lse[0] == -1e4);

  const Partial<double> good = partial_of({{2.0}, {1, 2, 3}});
  Partial<double> bad = good;
  bad.max[0] = bad.sum[0] = std::nan("");
  const std::vector<Partial<double>> both{good, bad};
  for (const Partial<double>& spoilt : {merged(good, bad), merged(bad, good), merge_all<double>(both)}) {
    CHECK(std::isnan(finish(spoilt).lse[0]));
    CHECK(std::isnan(finish(spoilt).out[0]));
  }
}

TEST_CASE("edge: rows of other tokens stay as they are, other shapes are a bug of the caller") {
  Partial<float> partial(2, 2, 1);
  const float value[] = {6};
  partial.merge_row(2, value, 1.0f, 2.0f);
  CHECK(partial.weighted == std::vector<float>{0, 0, 6, 0});
  CHECK(partial.sum == std::vector<float>{0, 0, 2, 0});
  CHECK(finish(partial).out[2] == 3);
  CHECK_THROWS_AS(merge(partial, Partial<float>(2, 1, 2)), std::logic_error);
  CHECK_THROWS_AS(merge_all<float>({}), std::logic_error);
}

TEST_CASE("edge: a NaN score stays in the largest score of a merge, from either side and in any order") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Partial<double> right = partial_of({{1.0}, {1, 2, 3}}), wrong = right;
  wrong.max[0] = nan;
  CHECK(std::isnan(merged(right, wrong).max[0]));
  CHECK(std::isnan(merged(wrong, right).max[0]));
  CHECK(std::isnan(merged(Partial<double>(1, 1, 3), wrong).max[0]));
  const std::vector<Partial<double>> parts{right, wrong, right};
  CHECK(std::isnan(merge_all(std::span<const Partial<double>>(parts)).max[0]));
}

}  // namespace
}  // namespace hybridkv
