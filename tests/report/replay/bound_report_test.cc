#include "report/replay/bound_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace hybridkv;

namespace {

std::vector<BoundAnswer> sample() {
  BoundAnswer first{.name = "N=5", .layout = {}, .found_tokens = 51, .token_exact_tokens = 374};
  first.layout = {.unit_tokens = 432, .unit_bytes = 10, .state_bytes = 20, .memory_bytes = 100, .requests = 7,
                  .prompt_tokens = 1000, .feasible_tokens = 313, .scheduled_tokens = 314, .is_replayed = true,
                  .upper_tokens = 318, .endless_tokens = 363, .evaluations = 9};
  BoundAnswer read = first;
  read.name = "other";
  read.layout.evidence = Evidence::source_only;
  return {first, read, {.name = "none", .refused = "no cache"}};
}

}  // namespace

TEST_CASE("golden: what is found, possible and at most, in one sentence a layout; who was read says so") {
  const std::string text = render_bound(sample(), "a trace", Format::table);
  CAPTURE(text);
  CHECK(text.find("N=5: 5.1 % found, at least 31.3 % possible in this memory, at most 31.8 %") != std::string::npos);
  CHECK(text.find("other (read): 5.1 % found") != std::string::npos);
  CHECK(text.find("none has no bound: no cache") != std::string::npos);
}

TEST_CASE("law: programs get rates from 0 to 1 and the tokens behind them") {
  const auto json = nlohmann::json::parse(render_bound(sample(), "a trace", Format::json));
  CHECK(json["schema"] == bound_schema_id);
  const auto& layout = json["layouts"][0];
  CHECK(layout["found_rate"] == 0.051);
  CHECK(layout["feasible_rate"] == 0.313);
  CHECK(layout["scheduled_tokens"] == 314);
  CHECK(layout["feasible_is_replayed"] == true);
  CHECK(layout["upper_rate"] == 0.318);
  CHECK(layout["upper_tokens"] == 318);
  CHECK(json["layouts"][2]["refused"] == "no cache");
  CHECK(json["layouts"][2]["upper_rate"].is_null());
}
