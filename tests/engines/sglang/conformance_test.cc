// Settings under which SGLang is asked how it splits its memory.
#include "engines/sglang/conformance.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "planner/tree_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("golden: pools are asked about on one rank, on two and on four, among which heads are shared out") {
  std::set<std::int64_t> ranks;
  for (const EngineSpec& engine : conformance_of_sglang.grid(qwen35_397b())) ranks.insert(engine.tensor_parallel);
  CHECK(ranks == std::set<std::int64_t>{1, 2, 4});
}

TEST_CASE("law: no random setting is without the overlapped schedule where lazy copies of states need it") {
  const ModelSpec model = qwen35_397b();
  std::map<TreeStrategy, std::set<bool>> overlapped;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const EngineSpec engine = conformance_of_sglang.random(model, key);
    overlapped[engine.own[tree_key::mamba_radix_cache_strategy]].insert(engine.own[tree_key::overlap_schedule]);
  }
  CHECK(overlapped.at(TreeStrategy::extra_buffer_lazy) == std::set<bool>{true});
  CHECK(overlapped.at(TreeStrategy::extra_buffer) == std::set<bool>{false, true});
  CHECK(overlapped.at(TreeStrategy::no_buffer) == std::set<bool>{false, true});
}

TEST_CASE("law: steps of every setting are whole pages, of which some have several tokens") {
  const ModelSpec model = qwen35_397b();
  std::vector<EngineSpec> settings = conformance_of_sglang.grid(model);
  for (std::uint64_t key = 0; key < 300; ++key) settings.push_back(conformance_of_sglang.random(model, key));
  std::set<std::int64_t> pages;
  for (const EngineSpec& engine : settings) {
    pages.insert(engine.own[tree_key::page_size]);
    CHECK(engine.max_num_batched_tokens % engine.own[tree_key::page_size] == 0);
  }
  CHECK(pages == std::set<std::int64_t>{1, 64});
}

TEST_CASE("law: random settings leave the type of states open or say one of two") {
  const ModelSpec model = qwen35_397b();
  std::set<std::optional<DType>> types;
  for (std::uint64_t key = 0; key < 300; ++key) types.insert(conformance_of_sglang.random(model, key).ssm_dtype);
  CHECK(types == std::set<std::optional<DType>>{std::nullopt, DType::bf16, DType::fp32});
}
