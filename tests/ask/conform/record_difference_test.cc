// Records are compared in the order of ours, figure by figure, and every figure is counted.
#include "ask/conform/record_difference.h"

#include <doctest/doctest.h>

#include "ask/conform/conform_case.h"
#include "ask/conform/conform_request.h"
#include "ask/conform/plan_record.h"
#include "base/error.h"
#include "engines/vllm/engine.h"
#include "planner/plan.h"
#include "scenarios/model_library.h"

using namespace hybridkv;
using nlohmann::ordered_json;

namespace {

/// The first difference, with what was counted.
struct Compared {
  std::optional<RecordDifference> first;
  std::map<std::string, FigureCount> counts;
};

Compared compared(const ordered_json& ours, const ordered_json& theirs) {
  Compared result;
  result.first = first_difference(ours, theirs, result.counts);
  return result;
}

Compared compared(const char* ours, const char* theirs) {
  return compared(ordered_json::parse(ours), ordered_json::parse(theirs));
}

}  // namespace

TEST_CASE("law: equal records differ in nothing, whatever the order of the other side") {
  const Compared equal = compared(R"({"a": 1, "b": [{"c": [1, 2]}, {"c": [3]}]})",
                                  R"({"b": [{"c": [1, 2]}, {"c": [3]}], "a": 1})");
  CHECK_FALSE(equal.first);
  CHECK(equal.counts.at("a").equal == 1);
  CHECK(equal.counts.at("b.c").compared == 2);
}

TEST_CASE("edge: the first difference is that of our order, with its place; what one side lacks is one") {
  const Compared found = compared(R"({"b": [{"c": 1}, {"c": 2}], "a": 1})", R"({"a": 7, "b": [{"c": 1}, {"c": 9}]})");
  REQUIRE(found.first);
  CHECK(found.first->figure == "b[1].c");
  CHECK(found.first->name == "b.c");
  CHECK(found.first->ours == "2");
  CHECK(found.first->theirs == "9");
  CHECK(compared(R"({"a": 1})", R"({"a": 1, "b": 2})").first->ours == "nothing");
  CHECK(compared(R"({"a": [{"c": 1}, {"c": 2}]})", R"({"a": [{"c": 1}]})").first->figure == "a[1]");
}

TEST_CASE("law: the record of a plan is equal to itself, and every figure of it has a rule") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-0.8B")->model;
  EngineSpec engine = vllm_0_33.conformance->grid(model).front();
  engine.rules = vllm_0_33.rules;
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {32'768}});
  const Compared itself = compared(plan_record(plan), plan_record(plan));
  CHECK_FALSE(itself.first);
  for (const char* figure : {"state_bytes", "block_size_tokens", "cache_order", "groups[0].layers",
                             "groups[3].block_size_tokens", "groups[0].page_bytes", "groups[0].checkpoint_blocks",
                             "bytes_per_block", "num_blocks", "pool_bytes", "blocks_per_request", "max_concurrency",
                             "kv_cache_tokens", "scheduler_block_tokens", "hash_block_tokens", "match_unit_tokens",
                             "tensors[0].layer_stride_bytes", "tensors[1].block_stride_bytes",
                             "tensors[0].offset_bytes", "views[0].shape", "views[0].strides_bytes",
                             "views[1].offset_bytes", "replay.hits", "replay.chunks"}) {
    CAPTURE(figure);
    CHECK(decision_on(plan, figure).has_value());
  }
}

TEST_CASE("law: cases are the same for the same seed, and others for another") {
  ConformGrid grid{.models = {find_shipped_model("Qwen3.5-0.8B")->model}, .random = 5, .seed = 3};
  const std::vector<ConformCase> cases = conform_cases(vllm_0_33, grid), again = conform_cases(vllm_0_33, grid);
  REQUIRE(cases.size() == again.size());
  CHECK(conform_request(cases.back(), 1) == conform_request(again.back(), 1));
  grid.seed = 4;
  CHECK(conform_request(conform_cases(vllm_0_33, grid).back(), 1) != conform_request(cases.back(), 1));
}

TEST_CASE("edge: a model that keeps more than layers cannot be told of") {
  const ModelSpec& model = find_shipped_model("GLM-5.3-Flash")->model;
  CHECK_FALSE(can_be_told(model, *vllm_0_33.conformance));
  CHECK(can_be_told(model, {.tells_indexers = ToldIndexers::one_with_ring}));
  CHECK_FALSE(can_be_told(find_shipped_model("MiniMax-M3")->model, {.tells_indexers = ToldIndexers::one_with_ring}));
  CHECK(can_be_told(find_shipped_model("MiniMax-M3")->model, {.tells_indexers = ToldIndexers::of_layers}));
  CHECK_THROWS_WITH_AS(conform_cases(vllm_0_33, {.models = {model}}), doctest::Contains("leave it out"), InputError);
}
