// The rules of vLLM 0.33 through the forward pass: exported states, junctions, fine hits and keys that look ahead.
#include "verify/forward/forward_exports.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/vllm/rules.h"
#include "planner/indexers.h"
#include "planner/plan.h"
#include "simulator/blocks/match_unit_rules.h"
#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"
#include "verify/forward/forward_geometry.h"

namespace hybridkv {
namespace {

using testing::full;
using testing::owner_of;
using testing::small_families;
using testing::small_hybrid;
using testing::window;

ForwardReport run_033(const ModelSpec& model, const ForwardSpec& spec, std::int64_t pack = 1) {
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm90;
  engine.attention_pack_size = pack;
  return verify_forward(model, engine, spec);
}

ForwardSpec unscaled_033() {
  ForwardSpec spec;
  spec.scale = 1;
  return spec;
}

bool exports_states(const RecurrentSpec& family) {
  return std::holds_alternative<Mamba2Spec>(family) || std::holds_alternative<GdnSpec>(family);
}

TEST_CASE("law: every family computes by the rules of 0.33 what it computes without pages, in one page and packed") {
  for (const RecurrentSpec& family : small_families())
    for (const std::int64_t pack : {1, 2}) {
      CAPTURE(family_name(family));
      CAPTURE(pack);
      const ForwardReport report = run_033(small_hybrid(family, DType::fp32, full, 4), unscaled_033(), pack);
      CHECK(report.passed());
      REQUIRE(report.results.size() == 2 * forward_cases_of(rules_of_vllm_0_33).size());
      for (const ForwardResult& result : report.results) {
        CAPTURE(to_string(result.forward_case));
        CAPTURE(to_string(result.mode));
        CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
        if (result.mode == CacheMode::none) continue;
        const bool of_exports =
            result.forward_case == ForwardCase::exported || result.forward_case == ForwardCase::fine_export;
        if (of_exports && !exports_states(family))
          CHECK(result.message == "not every scan of its states can export one inside a chunk");
        else if (result.forward_case != ForwardCase::window)
          CHECK_MESSAGE(result.status == ForwardStatus::passed, result.message);
      }
    }
}

TEST_CASE("law: windows, latents, unequal heads and attention alone pass by the rules of 0.33") {
  const RecurrentSpec gdn = GdnSpec{2, 4, 16, 16, 4};
  ModelSpec unequal = small_hybrid(gdn, DType::fp32, full, 8);
  unequal.layers[3].attention = AttentionSpec{AttentionKind::full, 4, 1, 16, 16, 0};
  ModelSpec alone = small_hybrid(gdn, DType::fp32, full, 4);
  for (LayerSpec& layer : alone.layers) layer = {full, std::nullopt};
  ModelSpec windowed = small_hybrid(gdn, DType::bf16, full, 8);
  windowed.layers[3].attention = window;
  ModelSpec of_windows = alone;  // and one more of all tokens, without states
  of_windows.layers[1].attention = window;
  for (const ModelSpec& model : {small_hybrid(gdn, DType::fp32, {AttentionKind::mla, 4, 1, 24, 16, 0}, 4), unequal,
                                 alone, windowed, of_windows}) {
    const ForwardReport report = run_033(model, unscaled_033());
    CHECK(report.passed());
    for (const ForwardResult& result : report.results) {
      CAPTURE(to_string(result.forward_case));
      CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
      if (result.forward_case == ForwardCase::window && model.layers[3].attention->window_tokens > 0)
        CHECK(result.status == ForwardStatus::passed);
      const bool has_states = model.layers[0].recurrent.has_value();
      if (result.forward_case == ForwardCase::copy_on_write && !has_states)
        CHECK(result.message.starts_with("hits end at whole blocks"));
    }
  }
}

TEST_CASE("fault: every fault of an engine is found by the rules of 0.33, each by the case that owns it") {
  const std::vector<RecurrentSpec> families{GdnSpec{2, 4, 16, 16, 4}, Mamba2Spec{8, 8, 16, 2, 4, 16}};
  for (const RecurrentSpec& family : families)
    for (const ForwardFault fault : forward_faults_of(rules_of_vllm_0_33)) {
      CAPTURE(to_string(fault));
      ForwardSpec spec = unscaled_033();
      spec.fault = fault;
      spec.cases = {owner_of(info_of(fault))};
      const AttentionSpec& attention = fault == ForwardFault::early_release ? window : full;
      const ForwardReport report = run_033(testing::model_for(fault, family, DType::bf16, attention), spec);
      CHECK(report.caught());
      REQUIRE(report.weakest_find() != nullptr);
      CHECK(report.weakest_find()->times_allowed() > 3);
    }
}

TEST_CASE("fault: what 0.33 alone can get wrong is found by no case of other rules") {
  for (const ForwardFault fault : {ForwardFault::wrong_export_column, ForwardFault::late_export,
                                   ForwardFault::foreign_junction, ForwardFault::short_keys}) {
    CAPTURE(to_string(fault));
    CHECK_FALSE(info_of(fault).paths.has(ForwardPath::blocks));
    ForwardSpec spec = unscaled_033();
    spec.fault = fault;
    spec.modes = {CacheMode::align};
    const ForwardReport report = run_033(small_hybrid(Mamba2Spec{8, 8, 16, 2, 4, 16}, DType::bf16, full, 4), spec);
    for (const ForwardResult& result : report.results) {
      CAPTURE(to_string(result.forward_case));
      const bool owner = result.forward_case == owner_of(info_of(fault));
      if (owner) CHECK(result.times_allowed() > 1);
      // An export that nobody hits changes nothing; the other two have no place but in their own case.
      const bool exports = info_of(fault).found_by == "export";
      if (!owner && !exports) CHECK(result.status == ForwardStatus::does_not_apply);
    }
  }
}

TEST_CASE("edge: windows say where prompts part, but not where they keep only what kept states need") {
  CacheGeometry geometry{.block_size_tokens = 16,
                         .num_blocks = 100,
                         .attention_groups = 1,
                         .attention_masks = {{MaskKind::sliding_window, 20}},
                         .state_groups = 1};
  CHECK(why_none_parts(geometry) == "");
  geometry.rules.blocks = &match_unit_rules;
  CHECK(why_none_parts(geometry) == "");  // without an interval all states are kept
  geometry.retention_interval_tokens = 0;
  CHECK(why_none_parts(geometry) ==
        "windows keep only what kept states need, so no look-up says where prompts part");
  // A group that sees all tokens keeps them.
  geometry.attention_groups = 2;
  geometry.attention_masks.push_back({});
  CHECK(why_none_parts(geometry) == "");
}

TEST_CASE("edge: the cache of a forward pass has the rules of its plan's release, and chunks have none in 0.33") {
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, full, 4);
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm90;
  engine.cache_mode = CacheMode::align;
  engine.num_blocks = 100;
  const CacheGeometry geometry = forward_geometry(make_plan(model, engine, {.max_model_lens = {64}}));
  CHECK(geometry.rules.blocks == &match_unit_rules);
  CHECK(geometry.rules.checkpoint_blocks == 1);
  CHECK(geometry.retention_interval_tokens == 0);
  // One table of the allocation has attention and what its indexers keep, and a ring is no state of the network.
  ModelSpec sparse = model;
  add_indexers(sparse, {64});
  sparse.ring_tokens = 8;
  sparse.ring_bytes_per_token = 16;
  sparse.extra_blocks_per_request = 1;
  const CachePlan packed = make_plan(sparse, engine, {.max_model_lens = {64}});
  const CacheGeometry shared = forward_geometry(packed);
  CHECK(std::ssize(packed.groups) > geometry.attention_groups + geometry.state_groups);
  CHECK(shared.attention_groups == geometry.attention_groups);
  CHECK(shared.state_groups == geometry.state_groups);
  CHECK(shared.held_groups.size() == 1);
  CHECK(most_block_ids(shared, 0, 64) == most_block_ids(geometry, 0, 64) + 1);
  CHECK(run_033(sparse, unscaled_033()).passed());
  ModelSpec chunked = model;
  chunked.layers[1].attention = AttentionSpec{AttentionKind::chunked_local, 4, 2, 16, 16, 24};
  const ForwardReport report = run_033(chunked, unscaled_033());
  CHECK_FALSE(report.passed());
  CHECK_FALSE(report.applies());
  CHECK(report.results.front().message ==
        "prefixes of chunked attention are not simulated with the rules of vllm-0.33, so none is proven");
}

}  // namespace
}  // namespace hybridkv
