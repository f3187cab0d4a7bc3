// Pictures of latency against load, and of where a step's time goes.
#include "report/plot/plot_times.h"

#include <doctest/doctest.h>

#include "scenarios/read.h"
#include "tests/contains.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Scenario scenario_of(const std::string& release, const std::string& packs) {
  return read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {release: " + release +
                                          ", memory: 20GiB, attention_pack_size: " + packs +
                                          "}\nlimits: {max_model_len: 32768}\n"
                                          "simulate: {trace: {max_requests: 150}}\n",
                                      "times.yaml"));
}

TimeCurves some_curves() {
  const TimedQuestion question{.served = {.gpu = "H200"}, .limits = {.first_token = 0.5}};
  return time_curves({{"", scenario_of("vllm-2026-06", "[1, 4]")}}, question, {0.5, 2, 60});
}

}  // namespace

TEST_CASE("law: latencies, their bands and limits stand where the axes say, with and without caching") {
  const TimeCurves curves = some_curves();
  REQUIRE(curves.curves.size() == 2);
  const Plot plot = plot_latency(curves);
  REQUIRE(plot.panels.size() == 2);
  // Two bands behind two curves, one without caching, and the limit; further tokens have no limit.
  CHECK(plot.panels[0].series.size() == 6);
  CHECK(plot.panels[1].series.size() == 5);
  CHECK(plot.panels[0].series.front().style == SeriesStyle::band);
  CHECK(contains(plot.caption, "median error"));
  CHECK(contains(plot.subtitle, "on 1 H200"));
  if (has_gnuplot()) check_drawn(plot);
}

TEST_CASE("law: ticks of latencies go on to the slowest curve, that of no caching too") {
  TimeCurves curves = some_curves();
  curves.curves.resize(1);
  std::vector<LoadPoint>& points = curves.curves.front().points;
  points.resize(1);
  REQUIRE(points[0].cached.first_token.mean() < 0.5);
  points[0].uncached = ServedTimes();
  points[0].uncached.add({.first_token = 150, .end = 150, .prompt = 10, .generated = 1});
  const Plot plot = plot_latency(curves);
  // 150 s lies between the ticks 100 and 200; all else ends with the limit of 0.5 s, or near it.
  CHECK(plot.panels[0].y.ticks.back() == doctest::Approx(200));
}

TEST_CASE("law: the parts of a step add up to the whole at every load") {
  const Plot plot = plot_step_time(some_curves());
  CHECK(plot.panels.size() == 3);
  for (const auto& row : plot.tables.front().table.rows()) {
    double sum = 0;
    for (std::size_t i = 2; i < row.size(); ++i) sum += std::get<Percent>(row[i]).value;
    CHECK(sum == doctest::Approx(300));
  }
  if (has_gnuplot()) check_drawn(plot);
}

TEST_CASE("golden: engines have a curve each by a clock of their own, and who has none is named") {
  const TimedQuestion question{.served = {.gpu = "H200"}};
  const TimeCurves curves = time_curves({{"one", scenario_of("vllm-0.33", "1")},
                                         {"two", scenario_of("sglang-0.5.23", "1")},
                                         {"three", scenario_of("llama.cpp", "1")}},
                                        question, {1});
  REQUIRE(curves.curves.size() == 2);
  CHECK(curves.curves[1].name == "two");
  REQUIRE(curves.refused.size() == 1);
  CHECK(contains(curves.refused.front(), "three: "));
  const Plot plot = plot_latency(curves);
  CHECK(plot.panels[0].series.size() == 6);  // both also without caching
  CHECK(contains(plot.caption, "three: "));
}
