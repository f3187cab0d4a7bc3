// A rank's memory with as many requests as run at once.
#include "planner/full_load.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "planner/demand.h"
#include "tests/planner/derived_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::int64_t sum_of_parts(const std::vector<MemoryPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

/// What the derivation says under that symbol; -1 where it says nothing.
std::int64_t derived_bytes(const CachePlan& plan, const std::string& symbol) {
  for (const Decision& decision : plan.derivation)
    if (decision.result.symbol == symbol) return std::get<std::int64_t>(decision.result.value);
  return -1;
}

}  // namespace

TEST_CASE("golden: 40 GiB full of requests of Qwen3.5-397B") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .attention_pack_size = 5};
  engine.memory_bytes = 40 * gib;
  const CachePlan plan = with_full_load(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), 32'768);
  const auto requests = static_cast<std::int64_t>(plan.capacity.front().usable_concurrency);
  CHECK(std::ssize(plan.waste.at_load.sequence_tokens) == requests);
  const std::vector<MemoryPart> parts = memory_parts(plan);
  CHECK(parts[0].bytes == requests * 15 * 1024 * 32'768);
  CHECK(parts[1].bytes == requests * 45 * std::int64_t(2'134'016));
  CHECK(parts[6].bytes < plan.capacity.front().bytes_per_request);
  CHECK(sum_of_parts(parts) == 40 * gib);
}

TEST_CASE("law: the parts of a full memory are the memory, each is derived, and one request more does not run") {
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    const CachePlan plan = make_plan(one.model, one.engine, one.limits);
    for (const std::int64_t tokens : {1, 1000, 8192}) {
      CAPTURE(tokens);
      const std::int64_t requests = requests_at_once(plan, tokens);
      if (requests == 0 || requests > 4096) continue;
      const CachePlan full = with_full_load(plan, tokens);
      const std::vector<MemoryPart> parts = memory_parts(full);
      const std::int64_t beyond = plan.pool_groups  ? plan.pool_groups->borrowed_bytes
                                  : plan.tree_pools ? plan.tree_pools->unbudgeted_bytes()
                                                    : 0;
      CHECK(sum_of_parts(parts) == plan.memory_bytes() + beyond);
      for (const MemoryPart& part : parts) {
        CAPTURE(part.name);
        CHECK(part.bytes >= 0);
        std::int64_t derived = 0;
        for (const std::string& symbol : part.symbols) {
          CHECK(derived_bytes(full, symbol) >= 0);
          derived += derived_bytes(full, symbol);
        }
        CHECK((part.name == "reserved" ? derived <= part.bytes : derived == part.bytes));
      }
      Demand demand = load_demand(full, full.waste.at_load.sequence_tokens);
      CHECK(fits(full, demand));
      add_request(full, tokens, demand);
      CHECK((!fits(full, demand) || requests == full.max_running_requests));
    }
  }
}

TEST_CASE("law: a full memory is the plan of as many running requests") {
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    const CachePlan plan = make_plan(one.model, one.engine, one.limits);
    const std::int64_t requests = requests_at_once(plan, 8192);
    if (requests == 0 || requests > 4096) continue;
    LimitsSpec limits = one.limits;
    limits.load_tokens.assign(static_cast<std::size_t>(requests), 8192);
    const CachePlan planned = make_plan(one.model, one.engine, limits), full = with_full_load(plan, 8192);
    CHECK(full.waste == planned.waste);
    CHECK(full.derivation == planned.derivation);
  }
}

TEST_CASE("edge: where no request fits nothing runs, and the memory is idle") {
  EngineSpec engine{.cache_mode = CacheMode::align};
  engine.num_blocks = 4;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}, std::nullopt,
                                   PlanDetail::numbers);
  CHECK(requests_at_once(plan, 32'768) == 0);
  const CachePlan full = with_full_load(plan, 32'768);
  CHECK(full.derivation.empty());
  const std::vector<MemoryPart> parts = memory_parts(full);
  CHECK(parts[0].bytes == 0);
  CHECK(parts[6].bytes == 3 * (plan.memory_bytes() / 4));
}
