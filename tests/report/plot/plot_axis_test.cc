#include "report/plot/plot_axis.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace hybridkv;

namespace {

std::vector<std::string> labels(const AxisScale& scale) {
  std::vector<std::string> texts;
  for (const AxisTick& tick : scale.ticks) texts.push_back(tick.label);
  return texts;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("golden: ends and ticks are round numbers, written as everywhere else") {
  const AxisScale scale = axis_scale({}, std::vector<double>{76.1, 89.2}, 8);
  CHECK(scale.least == 76);
  CHECK(scale.most == 90);
  CHECK(labels(scale) == Labels{"76", "78", "80", "82", "84", "86", "88", "90"});
  CHECK(labels(axis_scale({.least = 0}, std::vector<double>{2300}, 5)) ==
        Labels{"0", "500", "1,000", "1,500", "2,000", "2,500"});
  CHECK(labels(axis_scale({}, std::vector<double>{0.1, 0.34}, 4)) == Labels{"0.1", "0.2", "0.3", "0.4"});
}

TEST_CASE("edge: a share stays between its floor and its ceiling") {
  const PlotAxis share{.floor = 0, .ceiling = 100};
  const AxisScale high = axis_scale(share, std::vector<double>{3, 99.7}, 4);
  CHECK(high.least == 0);
  CHECK(high.most == 100);
  const AxisScale nothing = axis_scale(share, std::vector<double>{0, 0}, 8);
  CHECK(nothing.least == 0);
  CHECK(nothing.most == 100);
  const AxisScale flat = axis_scale(share, std::vector<double>{40}, 8);
  CHECK(flat.least == 0);
  CHECK(flat.most == 40);
}

TEST_CASE("edge: no axis reaches below 0 for a flat line above it, nor shows -0") {
  const AxisScale zero = axis_scale({.least = 0}, std::vector<double>{0}, 8);
  CHECK(zero.least == 0);
  CHECK(zero.most == 1);
  CHECK(labels(axis_scale({.least = 0, .most = 1, .whole = true}, {}, 8)) == Labels{"0", "1"});
  const AxisScale below = axis_scale({}, std::vector<double>{-4, -4}, 8);
  CHECK(below.most == 0);
  CHECK(below.ticks.back().label == "0");
}

TEST_CASE("edge: an axis that ends somewhere begins at 0 where there is nothing to show") {
  const AxisScale nothing = axis_scale({.most = 1.5}, {}, 4);
  CHECK(nothing.least == 0);
  CHECK(nothing.most == 1.5);
}

TEST_CASE("golden: a logarithmic axis marks powers of two, or what it is told to") {
  CHECK(labels(axis_scale({.logarithmic = true}, std::vector<double>{3, 900}, 10)) ==
        Labels{"2", "4", "8", "16", "32", "64", "128", "256", "512", "1,024"});
  CHECK(labels(axis_scale({.ticks = {0.625, 1.25, 2.5}, .logarithmic = true}, {}, 8)) ==
        Labels{"0.625", "1.25", "2.5"});
}

TEST_CASE("law: every value lies on the axis, ticks ascend within it and are few") {
  CHECK(rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 6);
    const auto power = *rc::gen::inRange(-3, 9);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(*rc::gen::inRange(-1000, 1000) * std::pow(10, power - 3));
    const AxisScale scale = axis_scale({}, values, 8);
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const double slack = 1e-9 * (scale.most - scale.least);
    RC_ASSERT(scale.least < scale.most);
    RC_ASSERT(scale.least <= *lowest + slack);
    RC_ASSERT(scale.most >= *highest - slack);
    RC_ASSERT(scale.ticks.size() >= 2u);
    RC_ASSERT(scale.ticks.size() <= 11u);
    for (std::size_t i = 0; i < scale.ticks.size(); ++i) {
      RC_ASSERT(scale.ticks[i].at >= scale.least - slack);
      RC_ASSERT(scale.ticks[i].at <= scale.most + slack);
      if (i > 0) RC_ASSERT(scale.ticks[i].at > scale.ticks[i - 1].at);
    }
  }));
}
