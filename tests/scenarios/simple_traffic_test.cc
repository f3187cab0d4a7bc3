#include "scenarios/simple_traffic.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace hybridkv;

TEST_CASE("golden: prompts of one length as a trace and in words") {
  const SimpleTraffic alike{.prompt_tokens = 370, .shared_prefix_tokens = {}};
  CHECK(traffic_yaml(alike, 300) == "{prompts: [{tokens: 370, copies: 300}]}");
  CHECK(traffic_text(alike) == "one prompt of 370 tokens, sent again and again");
  const SimpleTraffic parted{.prompt_tokens = 370, .shared_prefix_tokens = 100};
  CHECK(traffic_yaml(parted, 40) ==
        "{prompts: [{tokens: 370}, {tokens: 370, variants: 39, shared_tokens: 100}]}");
  CHECK(traffic_yaml(parted, 2) ==
        "{prompts: [{tokens: 370}, {tokens: 370, variants: 1, shared_tokens: 100}]}");
  CHECK(traffic_yaml(parted, 1) == "{prompts: [{tokens: 370}]}");
  CHECK(traffic_text(parted) == "prompts of 370 tokens that share the first 100");
  CHECK(traffic_text(SimpleTraffic()).empty());
}

TEST_CASE("edge: numbers that contradict each other are refused by their name") {
  const auto refused = [](const SimpleTraffic& traffic) -> std::string {
    try {
      check_traffic(traffic);
    } catch (const SpecError& error) {
      return error.path();
    }
    return {};
  };
  CHECK(refused({}).empty());
  CHECK(refused({.prompt_tokens = 1, .shared_prefix_tokens = 0}).empty());
  CHECK(refused({.prompt_tokens = 0, .shared_prefix_tokens = {}}) == "prompt_tokens");
  CHECK(refused({.prompt_tokens = 5, .shared_prefix_tokens = 6}) == "shared_prefix_tokens");
  CHECK(refused({.prompt_tokens = 5, .shared_prefix_tokens = -1}) == "shared_prefix_tokens");
  CHECK(refused({.prompt_tokens = {}, .shared_prefix_tokens = 6}) == "shared_prefix_tokens");
}
