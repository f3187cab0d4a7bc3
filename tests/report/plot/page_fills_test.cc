#include "report/plot/page_fills.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ask/plot/page_strip.h"
#include "engines/vllm/rules.h"
#include "tests/report/sample_plan.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Plans whose pages have padding, states of two tensors, K and V apart, and K and V that are mixed by tokens.
PlanSet plans_of_all_parts() {
  PlanSet set = tiny_plans(std::vector<std::int64_t>{1, 2});
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .memory_bytes = 1 << 22};
  engine.cache_order = CacheOrder::lbnhc;
  set.plans.push_back(make_plan(tiny_model(), engine, {.max_model_lens = {1000}}));
  return set;
}

}  // namespace

TEST_CASE("law: what a part is follows from its tensor and its half, and kinds differ exactly where fills do") {
  const std::map<std::pair<std::string, std::string>, std::string> kinds{
      {{"padding", ""}, "padding"}, {{"conv", ""}, "state0"}, {{"ssm", ""}, "state1"},
      {{"kv", "K"}, "key"},         {{"kv", "V"}, "value"},   {{"kv", ""}, "kv"}};
  std::set<std::string> seen, fills;
  std::set<std::pair<std::string, std::string>> together;
  for (const CachePlan& plan : plans_of_all_parts().plans)
    for (const PageStrip& strip : page_strips(plan))
      for (const PagePart& part : strip.parts) {
        CAPTURE(part.tensor);
        CAPTURE(part.half);
        const std::string kind = part_kind(plan, strip, part), fill = fill_of(plan, strip, part);
        CHECK(kind == kinds.at({part.tensor, part.half}));
        seen.insert(kind);
        fills.insert(fill);
        together.insert({kind, fill});
      }
  CHECK(seen.size() == kinds.size());
  CHECK(fills.size() == kinds.size());
  CHECK(together.size() == kinds.size());
}
