// A number as it was printed or logged finds the decisions that come to it, and those that these stand on.
#include "ask/asked_number.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ask/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Derivation invented_derivation() {
  return {{{"A", std::int64_t{16}, "tokens"}, "as set", {}, "a key"},
          {{"M", std::int64_t{2134016}, "bytes"}, "sum", {}, "a model"},
          {{"B", std::int64_t{2096}, "tokens"},
           "B = A * M",
           {{"A", std::int64_t{16}, "tokens"}, {"M", std::int64_t{2134016}, "bytes"}, {"N", std::int64_t{1}, ""}},
           "an engine"},
          {{"unlike", std::int64_t{7}, ""}, "as set", {}, "a key"},
          {{"page", std::int64_t{2146304}, "bytes"}, "page = B * 1024", {{"B", std::int64_t{2096}, "tokens"}}, "e"},
          {{"padding", 0.5842, "%"}, "p", {{"page", std::int64_t{2146304}, "bytes"}}, "e"},
          {{"block", std::int64_t{2096}, "tokens"}, "block = B", {{"B", std::int64_t{2096}, "tokens"}}, "e"}};
}

using Positions = std::vector<std::size_t>;

NumberSteps steps_of(const char* text) {
  const std::optional<AskedNumber> number = asked_number(text);
  REQUIRE(number);
  return steps_to(invented_derivation(), *number);
}

}  // namespace

TEST_CASE("asked number: read as people and engines write them, and nothing else is one") {
  const auto value = [](const char* text) { return asked_number(text).value().value; };
  CHECK(value("2096") == 2096);
  CHECK(value("1,734,082") == 1734082);
  CHECK(value("52.92x") == doctest::Approx(52.92));
  CHECK(value("32k") == 32768);
  CHECK(value("675MiB") == 675.0 * 1024 * 1024);
  CHECK(value("40 GiB") == 40.0 * 1024 * 1024 * 1024);
  CHECK(value("40GB") == 40e9);
  CHECK(asked_number("3.65 %")->unit == "%");
  CHECK(asked_number("1323 blocks")->unit == "blocks");
  CHECK(asked_number("1 token")->unit == "tokens");
  for (const char* text : {"", "qwen3.5-397b", "2.5-VL", "1,2,4", "1..4", "-3", "12 apples", "2096.", ".5", "1,23"})
    CHECK_MESSAGE(!asked_number(text), text);
}

TEST_CASE("asked number: steps that come to it, and those that they stand on, each once") {
  const NumberSteps block = steps_of("2,096");
  CHECK(block.results == Positions{2, 6});
  CHECK(block.reasons == Positions{0, 1});
  const NumberSteps padding = steps_of("0.58 %");
  CHECK(padding.results == Positions{5});
  CHECK(padding.reasons == Positions{0, 1, 2, 4});
  CHECK(steps_of("2.05 MiB").results == Positions{4});
  CHECK(steps_of("2096 bytes").results.empty());
  CHECK(steps_of("2097").results.empty());
  CHECK(steps_of("0.59 %").results.empty());
}

TEST_CASE("asked number: a rule's short name leads to the decision of the same value, not to any of that value") {
  Derivation derivation = invented_derivation();
  derivation.push_back({{"other", std::int64_t{2096}, "tokens"}, "as set", {}, "a key"});
  derivation.push_back({{"stride", std::int64_t{33536}, "elements"},
                        "stride = block * A",
                        {{"block of spec 1", std::int64_t{2096}, "tokens"}, {"A", std::int64_t{17}, "tokens"}},
                        "e"});
  const NumberSteps steps = steps_to(derivation, *asked_number("33,536"));
  CHECK(steps.results == Positions{8});
  CHECK(steps.reasons == Positions{0, 1, 2, 6});  // by way of `block`; no A of 17 tokens was decided
}

TEST_CASE("asked number: what is near it is named, what is far is not") {
  std::vector<Term> results;
  for (const Decision& decision : invented_derivation()) results.push_back(decision.result);
  const auto symbols = [&](const char* text) {
    std::vector<std::string> near;
    for (const Term& term : nearest_terms(results, *asked_number(text))) near.push_back(term.symbol);
    return near;
  };
  CHECK(symbols("2100") == std::vector<std::string>{"B"});
  CHECK(symbols("500").empty());
  CHECK(symbols("2.1 MiB") == std::vector<std::string>{"page", "M"});
}

TEST_CASE("asked number: law: every number of a plan leads to its own decision") {
  const Scenario scenario = small_scenario();
  const CachePlan plan = plan_scenario(scenario, {1}, PlanDetail::derived).plans.front();
  REQUIRE(plan.derivation.size() > 50);
  for (std::size_t i = 0; i < plan.derivation.size(); ++i) {
    const Term& result = plan.derivation[i].result;
    const auto* count = std::get_if<std::int64_t>(&result.value);
    if (count == nullptr || *count < 0) continue;
    const std::optional<AskedNumber> number = asked_number(std::to_string(*count));
    REQUIRE(number);
    const Positions found = steps_to(plan.derivation, *number).results;
    CHECK_MESSAGE(std::find(found.begin(), found.end(), i) != found.end(), result.symbol);
  }
}
