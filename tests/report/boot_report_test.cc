#include "report/boot_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "planner/primary_attention.h"
#include "tests/contains.h"

using namespace hybridkv;

TEST_CASE("edge: of several arenas the figures are those of the layers that a plan is called by") {
  const BootAnswer answer = boot({.file = parse_scenario("model: Gemma-3-27B\n"
                                                         "engine: {strategy: dual_pool, memory: 20 GiB}\n"
                                                         "limits: {max_model_len: 4096}\n",
                                                         "boot.yaml")});
  REQUIRE(answer.plan);
  const ArenaPlan& arena = answer.plan->arena_of(primary_group(*answer.plan));
  CHECK(arena.num_ids != answer.plan->arenas.front().num_ids);
  const std::string figures = render_boot(answer, Format::csv);
  CHECK(testing::contains(figures, fmt::format("num_blocks,{}\n", arena.num_ids)));
  CHECK(testing::contains(figures, fmt::format("bytes_per_block,{}\n", arena.bytes_per_id)));
}
