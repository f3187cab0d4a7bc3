// Files of clocks: read back as they were written, and what is none is refused with its key.
#include "clock/clock_file.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace hybridkv;

namespace {

ClockFile some_clock() {
  ClockFile clock{.engine = "some", .basis = "by hand"};
  clock.coefficients[Coefficient::layer_us] = 23.5;
  clock.fitted = {.runs = 2, .first_token_median = 1.5, .first_token_p90 = 3, .output_token_median = 1,
                  .output_token_p90 = 2};
  return clock;
}

std::string without(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("law: a clock is read back as it was written") {
  ClockFile clock = some_clock();
  CHECK(parse_clock(clock_text(clock), "c") == clock);
  clock.apart = ClockError{.runs = 7, .first_token_median = 20};
  CHECK(parse_clock(clock_text(clock), "c") == clock);
  CHECK(clock.error().runs == 7);
}

TEST_CASE("edge: what is no clock is refused, with what is wrong") {
  const std::string text = clock_text(some_clock());
  const auto refusal = [](const std::string& changed) {
    try {
      parse_clock(changed, "c.json");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK(refusal("{}") == "c.json: is no clock; hybridkv calibrate writes such files");
  CHECK(refusal("[1") == "c.json: is no clock; hybridkv calibrate writes such files");
  CHECK(refusal(without(text, "\"layer_us\": 23.5", "\"layer_us\": -1")) ==
        "c.json: coefficients.layer_us: -1 cannot be");
  CHECK(refusal(without(text, "\"gemm_eff\": 0.5", "\"gemm_eff\": 1.5")) ==
        "c.json: coefficients.gemm_eff: 1.5 cannot be");
  CHECK(refusal(without(text, "\"layer_us\"", "\"layer_ms\"")).find("layer_us") != std::string::npos);
  CHECK(refusal(without(text, "\"hybridkv_clock\": 1", "\"hybridkv_clock\": 2")).find("another version") !=
        std::string::npos);
  CHECK(refusal(without(text, "\"engine\": \"some\"", "\"engine\": 3")) == "c.json: engine: must be a text");
}
