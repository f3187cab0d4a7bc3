#include "report/plot/plot_engines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/report/drawn_text.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineRequests sample_engines() {
  EngineRequests requests{.model = "Sample", .tokens = 1000, .ideal_bytes = 70 << 20, .engines = {}};
  EngineRequest first{.name = "one-1", .bytes = 100 << 20};
  first.parts.token_bytes = 50 << 20;
  first.parts.state_bytes = 20 << 20;
  first.parts.extra_state_bytes = 20 << 20;
  first.parts.block_tail_bytes = 10 << 20;
  EngineRequest second{.name = "two", .evidence = Evidence::source_only, .bytes = 80 << 20};
  second.parts.token_bytes = 50 << 20;
  second.parts.state_bytes = 20 << 20;
  requests.engines = {first, second, {.name = "three", .refused = "no"}};
  return requests;
}

/// Width of the drawn part of an engine.
double width_of(const std::string& svg, const std::string& engine, const std::string& part) {
  const std::size_t at = svg.find(fmt::format("data-engine=\"{}\" data-part=\"{}\"", engine, part));
  REQUIRE(at != std::string::npos);
  const std::size_t rect = svg.rfind("<rect", at);
  const std::size_t width = svg.find(" width=\"", rect) + 8;
  return std::stod(svg.substr(width));
}

}  // namespace

TEST_CASE("law: bars are to scale across engines, what no part names is drawn too, who was read says so") {
  const Plot plot = plot_engine_requests(sample_engines());
  const std::string svg = plot.svg(830);
  const double unit = width_of(svg, "one-1", "token_bytes") / 50;
  CHECK(width_of(svg, "one-1", "state_bytes") == doctest::Approx(20 * unit).epsilon(0.001));
  CHECK(width_of(svg, "one-1", "extra_state_bytes") == doctest::Approx(20 * unit).epsilon(0.001));
  CHECK(width_of(svg, "one-1", "wasted_bytes") == doctest::Approx(10 * unit).epsilon(0.001));
  CHECK(width_of(svg, "two", "token_bytes") == doctest::Approx(50 * unit).epsilon(0.001));
  CHECK(width_of(svg, "two", "other_bytes") == doctest::Approx(10 * unit).epsilon(0.001));
  CHECK(svg.find("two (read)") != std::string::npos);
  CHECK(svg.find("refused; `hybridkv plan` says why") != std::string::npos);
  CHECK(svg.find("ideal: 70 MiB") != std::string::npos);
}

TEST_CASE("law: rates stand where the axes say, gaps stay gaps") {
  if (!testing::has_gnuplot()) return;
  EngineRates rates{.model = "Sample",
                    .trace = "two requests",
                    .memory_bytes = {std::int64_t(1) << 30, std::int64_t(2) << 30},
                    .names = {"one-1", "two"},
                    .evidence = {Evidence::run, Evidence::source_only},
                    .found = {},
                    .upper = {std::nullopt, 0.7},
                    .token_exact = 0.75};
  rates.found = {{0.25, 0.5}, {std::nullopt, 0.625}};
  testing::check_drawn(plot_engine_rates(rates));
}

TEST_CASE("edge: a title that is too long for a line takes two, and no text is cut") {
  EngineRequests engines = sample_engines();
  engines.model = "NVIDIA-Nemotron-3-Super-120B-A12B-BF16 of this house, as it is served";
  const std::string svg = plot_engine_requests(engines).svg(830);
  CHECK(outside_texts(svg) == std::vector<std::string>());
  CHECK(covered_texts(svg) == std::vector<std::string>());
}
