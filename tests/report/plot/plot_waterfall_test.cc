#include "report/plot/plot_waterfall.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/report/drawn_text.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlotInputs two_packs() {
  PlotInputs inputs;
  inputs.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  inputs.engine.tensor_parallel = 2;
  inputs.engine.cache_mode = CacheMode::align;
  inputs.engine.memory_bytes = 4 * gib;
  inputs.limits.max_model_lens = {32768};
  inputs.simulate.trace.synthetic.num_requests = 200;
  const std::vector<std::int64_t> packs{1, 5};
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  return inputs;
}

/// A number of a bar's rectangle.
double of_bar(const std::string& svg, const std::string& cause, const std::string& attribute) {
  const std::size_t at = svg.find(fmt::format("data-cause=\"{}\"", cause));
  REQUIRE(at != std::string::npos);
  const std::size_t rect = svg.rfind("<rect", at);
  return std::stod(svg.substr(svg.find(fmt::format(" {}=\"", attribute), rect) + attribute.size() + 3));
}

}  // namespace

TEST_CASE("law: bars go down from token by token to what is found, to scale, one picture a plan") {
  const PlotInputs inputs = two_packs();
  const Waterfalls values = waterfalls(inputs);
  const std::vector<Plot> plots = plot_waterfalls(inputs, values);
  REQUIRE(plots.size() == 2);
  CHECK(plots[0].name == "waterfall-n1");
  CHECK(plots[1].name == "waterfall-n5");
  for (std::size_t i = 0; i < 2; ++i) {
    const ReuseLoss& loss = values.plans[i].total;
    REQUIRE(loss.total() > 0);
    REQUIRE(loss.found_tokens > 0);
    const std::string svg = plots[i].svg(830);
    CHECK(outside_texts(svg) == std::vector<std::string>());
    const double left = of_bar(svg, "token_exact", "x");
    const double unit = of_bar(svg, "token_exact", "width") / static_cast<double>(loss.token_exact_tokens);
    std::int64_t end = loss.token_exact_tokens;
    for (const auto& [cause, name] : loss_cause_names) {
      end -= loss.of(cause);
      const double x = of_bar(svg, std::string(name), "x"), width = of_bar(svg, std::string(name), "width");
      CHECK(x == doctest::Approx(left + unit * static_cast<double>(end)).epsilon(0.001));
      CHECK(width == doctest::Approx(unit * static_cast<double>(loss.of(cause))).epsilon(0.01));
    }
    CHECK(end == loss.found_tokens);
    CHECK(of_bar(svg, "found", "x") == left);
    CHECK(plots[i].tables.at(0).table.rows().size() == num_loss_causes + 2);
  }
}
