// The worked numbers of Jenga's paper: small pages, large pages, and what a request takes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "planner/plan.h"
#include "scenario_text.h"

using namespace hybridkv;
using namespace hybridkv::test;

namespace {

CachePlan jenga_plan(const char* model, std::int64_t ranks, const char* dtype, const char* more = "") {
  const Scenario scenario = read_text_as_scenario(
      fmt::format("model: {}\nengine: {{release: jenga, tensor_parallel: {}, ssm_dtype: {}, memory: 80 GiB{}}}\n"
                  "limits: {{max_model_len: 32768}}\n", model, ranks, dtype, more));
  return make_plan(scenario.model, scenario.engine, scenario.limits);
}

/// By kind: a small page, and how many of them are in a large one.
struct KindOfPage {
  std::int64_t bytes = 0, in_large_page = 0;
  bool operator==(const KindOfPage&) const = default;
};

struct PageSizes {
  KindOfPage conv, ssm, attention;
  std::int64_t large_page = 0;
  bool operator==(const PageSizes&) const = default;
};

PageSizes sizes_of(const CachePlan& plan) {
  PageSizes sizes{.large_page = plan.lanes.front().bytes};
  for (const GroupPlan& group : plan.groups) {
    const KindOfPage kind{plan.entry_bytes(group), group.entries_per_id};
    if (!group.tensor) sizes.attention = kind;
    else (plan.tensors_of(group).front().name == "conv" ? sizes.conv : sizes.ssm) = kind;
  }
  return sizes;
}

}  // namespace

TEST_CASE("golden: small and large pages of three models") {
  const CachePlan jamba = jenga_plan("Jamba-1.5-mini", 1, "bf16");
  CHECK(sizes_of(jamba) == PageSizes{{1'376'256, 16}, {7'340'032, 3}, {262'144, 84}, 22'020'096});
  CHECK(jamba.groups.back().entries_per_id * jamba.spec_of(jamba.groups.back()).block_size_tokens == 1344);
  CHECK(sizes_of(jenga_plan("Qwen3.5-397B-A17B", 2, "fp32")) ==
        PageSizes{{1'658'880, 512}, {94'371'840, 9}, {245'760, 3456}, 849'346'560});
  CHECK(sizes_of(jenga_plan("Qwen3.5-397B-A17B", 2, "bf16")) ==
        PageSizes{{1'658'880, 256}, {47'185'920, 9}, {245'760, 1728}, 424'673'280});
  CHECK(sizes_of(jenga_plan("Nemotron-3-Nano-30B-A3B", 2, "fp32")) ==
        PageSizes{{423'936, 512}, {24'117'248, 9}, {49'152, 4416}, 217'055'232});
}

TEST_CASE("golden: a request has a running state and one for every 512 tokens, in large pages of its own") {
  const CachePlan plan = jenga_plan("Qwen3.5-397B-A17B", 2, "fp32");
  const TableRule states = table_rule(plan, plan.specs.front());
  CHECK(table_entries(states, 1) == 1);
  CHECK(table_entries(states, 511) == 1);
  CHECK(table_entries(states, 512) == 2);
  CHECK(table_entries(states, 32'768) == 65);
  CHECK(longest_in_entries(states, 65) == 33'279);
  CHECK(longest_in_entries(states, 0) == 0);
  // ceil(65 / 512), ceil(65 / 9) and ceil(2,048 / 3,456) large pages.
  REQUIRE(plan.groups.size() == 3);
  CHECK(group_ids(plan, plan.groups[0], 32'768) == 1);
  CHECK(group_ids(plan, plan.groups[1], 32'768) == 8);
  CHECK(group_ids(plan, plan.groups[2], 32'768) == 1);
  CHECK(plan.capacity.front().blocks_per_request == 10);
  CHECK(plan.capacity.front().bytes_per_request == std::int64_t{10} * 849'346'560);
  CHECK(plan.prefix.match_unit_tokens == 512);
  CHECK(plan.prefix.duplicate_misses_up_to_tokens == 512);
  CHECK(!plan.prefix.duplicate_misses_multiples_of_tokens);
}

TEST_CASE("edge: states are kept at a number of tokens that is asked for, and without caching none is") {
  CHECK(jenga_plan("Qwen3.5-397B-A17B", 2, "fp32", ", mamba_block_size_tokens: 2048").prefix.match_unit_tokens == 2048);
  const CachePlan none = jenga_plan("Qwen3.5-397B-A17B", 2, "fp32", ", cache_mode: none");
  CHECK(table_entries(table_rule(none, none.specs.front()), 32'768) == 1);
  CHECK(reading_error("model: Qwen3.5-4B\nengine: {release: jenga, cache_mode: all, memory: 40 GiB}\n"
                      "limits: {max_model_len: 32768}\n") == "no error");  // the plan refuses it
  CHECK(error_of([] { jenga_plan("Qwen3.5-4B", 1, "fp32", ", cache_mode: all"); }).find("has no mode all") !=
        std::string::npos);
}
