// What a plan with rows by sequence says beside all others.
#include "report/plan/tensor_pool_facts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/contains.h"
#include "tests/report/plan/slots_plan.h"

using namespace hybridkv;
using testing::contains;

namespace {

/// What of a server with slots lies on the host.
std::string on_host(const CachePlan& plan) {
  const auto facts = tensor_pool_facts(plan);
  const auto host = std::find_if(facts.begin(), facts.end(), [](const auto& fact) { return fact.first == "host"; });
  REQUIRE(host != facts.end());
  return host->second;
}

}  // namespace

TEST_CASE("golden: how many checkpoints lie on the host, or that none do, beside the prompts that are saved") {
  CachePlan plan = testing::slots_plan();
  plan.rows->checkpoints = 32;
  plan.rows->saved_bytes = 0;
  const std::string some = on_host(plan);
  CAPTURE(some);
  CHECK(some.starts_with("up to 32 checkpoints of "));
  CHECK(contains(some, " of host memory; "));
  CHECK(some.ends_with("; no prompts are saved"));
  plan.rows->checkpoints = 0;
  CHECK(on_host(plan) == "no checkpoints; no prompts are saved");
}
