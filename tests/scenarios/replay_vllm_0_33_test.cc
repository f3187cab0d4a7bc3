// ReplaySSM of vLLM 0.33: a ring of inputs in every page of a state.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines/vllm/serve.h"
#include "planner/plan.h"
#include "scenario_text.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/plan_geometry.h"

using namespace hybridkv;
using namespace hybridkv::test;

namespace {

Scenario scenario_with(const std::string& more, const char* model = "Nemotron-3-Super-120B-A12B") {
  return read_text_as_scenario(fmt::format("model: {}\nengine: {{release: vllm-0.33, memory: 80 GiB{}}}\n"
                                           "limits: {{max_model_len: 32768}}\n", model, more));
}

CachePlan plan_with(const std::string& more, const char* model = "Nemotron-3-Super-120B-A12B") {
  const Scenario scenario = scenario_with(more, model);
  return make_plan(scenario.model, scenario.engine, scenario.limits);
}

const SpecPlan& states_of(const CachePlan& plan) {
  return *std::find_if(plan.specs.begin(), plan.specs.end(), [](const SpecPlan& spec) { return spec.state; });
}

std::string refusal(const std::string& more, const char* model = "Nemotron-3-Super-120B-A12B") {
  return error_of([&] { plan_with(more, model); });
}

}  // namespace

TEST_CASE("golden: sixteen rows of inputs lie in every state page, and the block grows") {
  const CachePlan without = plan_with(""), with = plan_with(", use_replayssm: true");
  CHECK(states_of(without).state->bytes == 4'255'744);
  CHECK(states_of(with).state->bytes == 4'255'744 + 303'104);
  CHECK(states_of(without).block_size_tokens == 4160);
  CHECK(states_of(with).block_size_tokens == 4464);
  const std::vector<StateTensor>& tensors = states_of(with).state->tensors;
  REQUIRE(tensors.size() == 5);
  CHECK((tensors[2].name == "x_ring" && tensors[2].bytes() == 16 * 128 * 64 * 2));
  CHECK((tensors[3].name == "dt_ring" && tensors[3].bytes() == 16 * 128 * 4));
  CHECK((tensors[4].name == "b_ring" && tensors[4].bytes() == 16 * 8 * 128 * 2));
  // As many ids as without, of pages that are larger.
  CHECK(request_demand(with, 4160).ids == request_demand(without, 4160).ids);
}

TEST_CASE("golden: with FlashInfer's kernels a ring has the rows of one step more, and drafts have no states") {
  // 16 ranks: 8 heads each, and groups are copied until each has one; 16 + 1 + 3 rows.
  const CachePlan plan = plan_with(", use_replayssm: true, mamba_backend: flashinfer, cache_mode: none, "
                                   "tensor_parallel: 16, speculative_tokens: 3");
  const std::vector<StateTensor>& tensors = states_of(plan).state->tensors;
  CHECK(tensors[2].bytes() == 20 * 8 * 64 * 2);
  CHECK(tensors[3].bytes() == 20 * 8 * 4);
  CHECK(tensors[4].bytes() == 20 * 1 * 128 * 2);
  CHECK(table_entries(table_rule(plan, states_of(plan)), 32'768) == 1);
  const CachePlan drafts = plan_with(", cache_mode: none, tensor_parallel: 16, speculative_tokens: 3");
  CHECK(table_entries(table_rule(drafts, states_of(drafts)), 32'768) == 4);
  const CacheGeometry geometry =
      geometry_of(plan, scenario_with(", use_replayssm: true, mamba_backend: flashinfer, cache_mode: none, "
                                      "tensor_parallel: 16, speculative_tokens: 3").engine);
  CHECK(geometry.draft_states() == 0);
  CHECK(geometry.speculative_tokens == 3);
  CHECK(request_block_ids(geometry, 32'768) == request_demand(plan, 32'768).total());
}

TEST_CASE("edge: what the engine refuses with the ring is refused, with the way out") {
  const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  CHECK(says(refusal(", use_replayssm: true", "Qwen3.5-4B"), "mamba2 layers alone, and Qwen3.5-4B has gdn layers"));
  CHECK(says(refusal(", use_replayssm: true", "gpt-oss-20b"), "gpt-oss-20b has none"));
  CHECK(says(refusal(", use_replayssm: true, speculative_tokens: 2"), "engine.mamba_backend: flashinfer"));
  CHECK(says(refusal(", use_replayssm: true, mamba_backend: flashinfer"), "engine.cache_mode: caches prefixes"));
  CHECK(says(refusal(", use_replayssm: true, mamba_backend: flashinfer, cache_mode: none, replayssm_buffer_len: 17"),
             "keep at most 16 tokens"));
  CHECK(says(refusal(", use_replayssm: true, mamba_backend: flashinfer, cache_mode: none, replayssm_buffer_len: 2, "
                     "speculative_tokens: 3"),
             "fewer than the 4 tokens of a step"));
  CHECK(refusal(", mamba_backend: flashinfer") == "no error");
  CHECK(refusal(", use_replayssm: true, mamba_backend: flashinfer, cache_mode: none, replayssm_buffer_len: 3, "
                "speculative_tokens: 2") == "no error");
}

TEST_CASE("edge: states are rounded at random in fp16 alone, and kept where prompts part where that is asked for") {
  CHECK(refusal(", enable_mamba_cache_stochastic_rounding: true").find("set engine.ssm_dtype: fp16") !=
        std::string::npos);
  const CachePlan rounded = plan_with(", enable_mamba_cache_stochastic_rounding: true, ssm_dtype: fp16");
  CHECK(states_of(rounded).state->bytes == 61'440 + 128 * 64 * 128 * 2);
  const std::string key = ", enable_mamba_shared_prefix_checkpoint: true";
  CHECK(geometry_of(plan_with(key), scenario_with(key).engine).rules.exact_junctions);
  CHECK(!geometry_of(plan_with(""), scenario_with("").engine).rules.exact_junctions);
}
