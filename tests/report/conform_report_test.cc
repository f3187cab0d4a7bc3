// What `conform` says of differences, and under which titles.
#include "report/conform_report.h"

#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

using testing::contains;

ConformDifference falsified(const std::string& figure, const std::string& rule) {
  ConformDifference difference;
  difference.words = "a case";
  difference.first = {.figure = figure, .name = figure, .ours = "1", .theirs = "2"};
  difference.rule = rule;
  return difference;
}

std::string conformed(const ConformAnswer& answer) { return render_conform(answer, Format::table, {.width = 1000}); }

}  // namespace

TEST_CASE("golden: differences of one figure and one rule are one finding, others have their own") {
  ConformAnswer answer{.rules = &rules_of_vllm_0_33, .version = "0.33.0", .known_version = "0.33.0", .cases = 40};
  answer.differences = {falsified("block_size_tokens", "B = A"), falsified("page_bytes", "B = A"),
                        falsified("block_size_tokens", "B = 2 * A"), falsified("block_size_tokens", "B = A")};
  const std::string text = conformed(answer);
  CAPTURE(text);
  CHECK(contains(text, "differ in 4 of 40 cases"));
  const std::size_t twice = text.find("Falsified: block_size_tokens, in 2 cases\n"),
                    page = text.find("Falsified: page_bytes, in 1 case\n"),
                    other = text.find("Falsified: block_size_tokens, in 1 case\n");
  REQUIRE(other != std::string::npos);
  CHECK(twice < page);
  CHECK(page < other);
  CHECK(text.find("Falsified: ", other + 1) == std::string::npos);
}

TEST_CASE("golden: figures stand below a title of their own, where any were compared") {
  ConformAnswer answer{.rules = &rules_of_vllm_0_33, .version = "0.33.0", .known_version = "0.33.0", .cases = 40};
  CHECK_FALSE(contains(conformed(answer), "Figures"));
  answer.figures = {{"block_size_tokens", {.compared = 40, .equal = 38}}};
  const std::string text = conformed(answer);
  CAPTURE(text);
  const std::size_t title = text.find("\nFigures\n");
  REQUIRE(title != std::string::npos);
  CHECK(text.find("block_size_tokens", title) != std::string::npos);
}
