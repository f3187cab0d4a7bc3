#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "attention/reference.h"
#include "base/npy.h"
#include "tests/scratch_folder.h"
#include "tests/verify/check_named.h"
#include "tests/verify/plans.h"
#include "verify/attention_case.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::check_named;

namespace {

/// Two attention layers of that kind among gdn layers; mla keeps one latent of 24 of which 16 are V.
CachePlan plan_of(AttentionKind kind, std::int64_t window, CacheMode mode = CacheMode::align) {
  AttentionSpec attention{.kind = kind, .query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16,
                          .window_tokens = window};
  if (kind == AttentionKind::mla) attention.kv_heads = 1, attention.head_size_k = 24;
  const ModelSpec model = testing::hybrid_model("kinds", 6, attention, GdnSpec{2, 4, 16, 16, 4},
                                                [](std::int64_t i) { return i % 3 == 1; });
  EngineSpec engine;
  engine.cache_mode = mode;
  if (mode == CacheMode::all) engine.mamba_block_size_tokens = 16;  // blocks below the window, as in the other modes
  engine.ssm_dtype = DType::fp32;
  engine.max_num_batched_tokens = 512;
  engine.memory_bytes = std::int64_t(64) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {8192}});
}

}  // namespace

TEST_CASE("law: windows, chunks and latents verify under their own mask") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const auto& [kind, window] :
         {std::pair{AttentionKind::sliding_window, 300}, std::pair{AttentionKind::sliding_window, 1000},
          std::pair{AttentionKind::chunked_local, 700}, std::pair{AttentionKind::mla, 0},
          std::pair{AttentionKind::mla, 300}}) {
      CAPTURE(to_string(kind));
      CAPTURE(window);
      const CachePlan plan = plan_of(kind, window, mode);
      const VerifyReport report = verify_plan(plan, {});
      CHECK(report.passed());
      for (const CheckResult& check : report.checks) {
        // The prefix that the cascade takes at once would need a mask.
        const bool declines = check.name == "attention-cascade" && window > 0;
        CHECK_MESSAGE(check.status == (declines ? CheckStatus::declined : CheckStatus::passed), check.name, ": ",
                      check.message);
      }
      // The first two requests reach beyond the window, so that it hides something.
      CHECK(report.requests[0].tokens > window);
      CHECK(report.requests[1].tokens > window);
      CHECK(check_named(report, "attention-full").count > 0);
    }
}

TEST_CASE("law: drafts of full attention, padded heads and groups as wide as the user asks verify") {
  const ModelSpec model = testing::hybrid_model("wide", 9, AttentionSpec{AttentionKind::full, 6, 2, 16, 16, 0},
                                                GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 3 == 1; });
  for (const std::int64_t draft_heads : {2, 3, 8}) {
    EngineSpec engine{.tensor_parallel = 4, .pad_heads = true, .ssm_dtype = DType::fp32,
                      .cache_mode = CacheMode::align, .layers_per_group = 2};
    engine.draft = DraftSpec{1, AttentionSpec{AttentionKind::full, 2 * draft_heads, draft_heads, 16, 16, 0}};
    engine.speculative_tokens = 2;
    engine.memory_bytes = std::int64_t(64) << 20;
    const CachePlan plan = make_plan(model, engine, LimitsSpec{.max_model_lens = {8192}});
    CHECK(plan.pools.size() == 2);
    CHECK(plan.groups.back().padding_positions == 1);
    const VerifyReport report = verify_plan(plan, {});
    CHECK(report.passed());
    CHECK(check_named(report, "attention-full").count > 0);
  }
}

TEST_CASE("law: an exported window is read back with its mask and gives the same output") {
  const CachePlan plan = plan_of(AttentionKind::sliding_window, 300);
  const testing::ScratchFolder folder;
  VerifySpec spec;
  spec.export_folder = folder.path / "export";
  CHECK(verify_plan(plan, spec).passed());
  const std::filesystem::path layer = spec.export_folder / "layer_1";
  const AttentionCase batch = load_attention_case(layer);
  CHECK(batch.inputs.mask == KeyMask{MaskKind::sliding_window, 300});
  const auto expected = read_npy(layer / "out_ref_f64.npy");
  const AttentionOutput<double> again = reference_attention(batch.inputs);
  CHECK(std::equal(again.out.begin(), again.out.end(), expected.values<double>().begin()));
  AttentionInputs unmasked = batch.inputs;
  unmasked.mask = {};
  CHECK(reference_attention(unmasked).out != again.out);
}
