#include "report/plan/memory_bars.h"

#include <doctest/doctest.h>

#include "planner/full_load.h"
#include "planner/plan.h"
#include "report/document.h"
#include "tests/contains.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CachePlan plan_to_draw(std::int64_t pack) {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .attention_pack_size = pack};
  engine.memory_bytes = 40 * gib;
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
}

}  // namespace

TEST_CASE("law: a bar is the memory of its rank, its parts those of the full plan") {
  const Bars bars = memory_bars({full_memory("N = 1", plan_to_draw(1), 32'768),
                                 full_memory("N = 5", plan_to_draw(5), 32'768)});
  REQUIRE(bars.bars.size() == 2);
  CHECK(bars.bars[1].title == "N = 5: 40 GiB with 61 requests of 32,768 tokens");
  for (const Bar& bar : bars.bars) CHECK(bar.total() == 40 * gib);
  const std::vector<MemoryPart> parts = memory_parts(with_full_load(plan_to_draw(5), 32'768));
  REQUIRE(bars.kinds.size() == parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(bars.kinds[i].tone == parts[i].name);
    CHECK(bars.bars[1].bytes[i] == parts[i].bytes);
  }
}

TEST_CASE("law: every part of a bar is among the steps below it, and nothing of the layout is") {
  const CachePlan plan = plan_to_draw(5);
  const std::string steps = render_text(memory_bar_steps(full_memory("N = 5", plan, 32'768)));
  for (const MemoryPart& part : memory_parts(plan))
    for (const std::string& symbol : part.symbols) {
      CAPTURE(symbol);
      CHECK(contains(steps, ". " + symbol + " = "));
    }
  CHECK(contains(steps, "1. running requests at the load = 61\n"));
  CHECK_FALSE(contains(steps, ". num_blocks = "));
}
