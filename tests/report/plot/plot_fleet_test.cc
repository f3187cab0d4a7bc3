// Pictures of replicas behind routers.
#include "report/plot/plot_fleet.h"

#include <doctest/doctest.h>

#include <pugixml.hpp>

#include "scenarios/read.h"
#include "tests/contains.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

FleetCurves fleet_of(const std::string& packs) {
  return fleet_curves(read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {cache_mode: align, memory: 3 GiB, "
                                                   "attention_pack_size: " + packs + "}\n"
                                                   "limits: {max_model_len: 16k}\n"
                                                   "simulate:\n  trace: {max_requests: 200}\n"
                                                   "  fleet: {replicas: 3, router: [round-robin, states]}\n",
                                                   "fleet.yaml")));
}

}  // namespace

TEST_CASE("law: bars of gaps are as long as their numbers say, one behind the other") {
  const Plot plot = plot_routing_gaps(fleet_of("[1, 4]"));
  const auto& rows = plot.tables.front().table.rows();
  REQUIRE(rows.size() == 4);
  pugi::xml_document svg;
  REQUIRE(svg.load_string(plot.svg(830).c_str()));
  const auto parts = svg.select_nodes("//*[@class='part']");
  CHECK(parts.size() >= 2 * rows.size());
  double scale = 0, end = 0;
  std::string bar;
  for (const auto& node : parts) {
    const pugi::xml_node part = node.node();
    const double width = part.attribute("width").as_double(), percent = part.attribute("data-percent").as_double();
    if (scale == 0) scale = width / percent;
    CHECK(width == doctest::Approx(scale * percent).epsilon(0.002).scale(1));
    const std::string name = std::string(part.attribute("data-cache").value()) + part.attribute("data-router").value();
    if (name == bar) CHECK(part.attribute("x").as_double() == doctest::Approx(end).epsilon(0.001));
    bar = name;
    end = part.attribute("x").as_double() + width;
  }
  CHECK(contains(plot.subtitle, "3 replicas"));
  CHECK(contains(plot.caption, "modelled"));
}

TEST_CASE("golden: the course of a trace has a picture a cache, a curve a router") {
  const std::vector<Plot> plots = plot_routing_courses(fleet_of("[1, 4]"));
  REQUIRE(plots.size() == 2);
  CHECK(plots[0].name == "routing-course-1");
  CHECK(plot_routing_courses(fleet_of("1")).front().name == "routing-course");
  for (const Plot& plot : plots) {
    REQUIRE(plot.panels.size() == 2);
    CHECK(plot.panels[0].series.size() == 2);
    CHECK(contains(plot.title, "N = "));
    if (has_gnuplot()) check_drawn(plot);
  }
}
