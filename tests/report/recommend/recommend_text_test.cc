// What reports of every search say alike.
#include "report/recommend/recommend_text.h"

#include <doctest/doctest.h>

#include <string>

using namespace hybridkv;

namespace {

/// What is said of so many of 20 requests that are too long; empty where nothing is.
std::string said_of_too_long(std::int64_t requests) {
  RecommendAnswer answer;
  answer.result.max_model_len = 4096;
  answer.result.workload = {.requests = 20, .too_long_requests = requests};
  for (const auto& [label, text] : asked_facts(answer).entries)
    if (label == "too long") return text;
  return "";
}

}  // namespace

TEST_CASE("edge: requests that are too long are said from a single one on, and that no figure counts them") {
  CHECK(said_of_too_long(0) == "");
  CHECK(said_of_too_long(1) ==
        "1 of 20 requests has a prompt of max_model_len (4,096 tokens) or more and is refused, as the engine refuses "
        "it; all figures are of the others");
  CHECK(said_of_too_long(2) ==
        "2 of 20 requests have prompts of max_model_len (4,096 tokens) or more and are refused, as the engine refuses "
        "them; all figures are of the others");
}
