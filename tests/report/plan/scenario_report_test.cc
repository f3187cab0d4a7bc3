#include "report/plan/scenario_report.h"

#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/contains.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::string inputs_of(const EngineSpec& engine) {
  const LimitsSpec limits{.max_model_lens = {8192, 32'768}};
  const std::int64_t packs[] = {1};
  return render_csv(inputs_table({.model = qwen35_397b(),
                                  .engine = engine,
                                  .limits = limits,
                                  .set = make_plans(qwen35_397b(), engine, limits, packs)}));
}

}  // namespace

TEST_CASE("golden: every value that decides a plan stands in its report, what is left open with what that means") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const std::string open = inputs_of(engine);
  CAPTURE(open);
  for (const char* line :
       {"model,Qwen3.5-397B", "engine.release,vllm-2026-06\n", "engine.tensor_parallel,2\n",
        "engine.kv_dtype,as the model\n", "engine.conv_dtype,as the model\n", "engine.ssm_dtype,as the model says\n",
        "engine.cache_mode,align\n", "engine.attention_pack_size,1\n", "engine.block_size_tokens,none asked for\n",
        "engine.mamba_block_size_tokens,none asked for\n", "engine.speculative_tokens,0\n", "engine.mtp_layers,0\n",
        "engine.draft,none\n", "engine.num_blocks,from memory\n", "limits.longest_prompt_tokens,unknown\n"})
    CHECK(contains(open, line));
  for (const char* key : {"layers_per_group", "pad_heads", "pipeline_parallel", "pipeline_memory", "backend_profile",
                          "checkpoint_alignment_tokens", "checkpoint_blocks", "prefix_match_unit_tokens",
                          "hybrid_manager"})
    CHECK_FALSE(contains(open, std::string("engine.") + key));

  engine.kv_dtype = DType::fp8_e4m3, engine.conv_dtype = DType::fp32, engine.ssm_dtype = DType::bf16;
  engine.layers_per_group = 15;
  engine.speculative_tokens = 2, engine.mtp_layers = 1;
  engine.draft = DraftSpec{2, full_attention(8, 128, 32)};
  const std::string set = inputs_of(engine);
  CAPTURE(set);
  for (const char* line :
       {"engine.kv_dtype,fp8_e4m3\n", "engine.conv_dtype,fp32\n", "engine.ssm_dtype,bf16\n",
        "engine.layers_per_group,15\n", "engine.speculative_tokens,2\n", "engine.mtp_layers,1\n",
        "engine.draft,2 full-attention layers\n"})
    CHECK(contains(set, line));

  for (const std::int64_t window : {1, 512}) {
    engine.draft->attention.kind = AttentionKind::sliding_window;
    engine.draft->attention.window_tokens = window;
    CHECK(contains(inputs_of(engine), "engine.draft,2 sliding-window layers\n"));
  }

  // What is supposed stands there key by key; where nothing is, no key does.
  CHECK_FALSE(contains(open, "engine.what_if"));
  EngineSpec supposed{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  supposed.what_if.page_bytes = 4 * mib;
  supposed.what_if.states.recurrent_first = true;
  const std::string what_if = inputs_of(supposed);
  CAPTURE(what_if);
  CHECK(contains(what_if, "engine.what_if.page_bytes,4194304\n"));
  CHECK(contains(what_if, "engine.what_if.state_order,recurrent_first\n"));

  EngineSpec staged{.tensor_parallel = 2, .memory_bytes = 40 * gib};
  staged.rules = &rules_of_vllm_0_33, staged.backend_profile = BackendProfile::sm90;
  staged.pipeline_parallel = 2, staged.pipeline_rank = 1;
  staged.decode_context_parallel = 2, staged.prefix_match_unit_tokens = 64;
  const std::string stages = inputs_of(staged);
  CAPTURE(stages);
  for (const char* line :
       {"engine.release,vllm-0.33\n", "engine.backend_profile,sm90\n", "engine.pipeline_parallel,2\n",
        "engine.pipeline_rank,1\n", "engine.pipeline_layers,as even as the engine makes them\n",
        "engine.decode_context_parallel,2\n", "engine.prefix_match_unit_tokens,64\n",
        "engine.kernel_alignment_tokens,as the profile declares\n"})
    CHECK(contains(stages, line));
}
