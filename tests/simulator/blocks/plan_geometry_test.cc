#include "simulator/blocks/plan_geometry.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "planner/demand.h"
#include "planner/plan.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/modelled_rule.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

EngineSpec engine(CacheMode mode) {
  return {.tensor_parallel = 2, .cache_mode = mode, .memory_bytes = 40 * testing::gib};
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B at TP 2 and 40 GiB: block 2096, one attention and three recurrent groups") {
  const EngineSpec spec = engine(CacheMode::align);
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  const CacheGeometry geometry = geometry_of(plan, spec);
  CHECK(geometry.block_size_tokens == 2096);
  CHECK(geometry.attention_groups == 1);
  CHECK(geometry.state_groups == 3);
  CHECK(geometry.num_blocks == plan.num_blocks());
  CHECK(geometry.mode == CacheMode::align);
  CHECK(!geometry.drafter_drops_block);
  validate(geometry);
}

TEST_CASE("law: a geometry's blocks per request are its plan's, in every mode, with speculation and windows") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const std::int64_t speculative : {0, 2})
      for (const bool draft : {false, true}) {
        EngineSpec spec = engine(mode);
        spec.speculative_tokens = speculative;
        if (speculative > 0 && !draft) spec.mtp_layers = 1;
        if (speculative > 0 && draft) spec.draft = DraftSpec{4, testing::sliding_attention(2, 256, 2048)};
        const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
        const CacheGeometry geometry = geometry_of(plan, spec);
        CHECK(geometry.drafter_drops_block == (speculative > 0));
        // Beyond the window and one batch, where a windowed group holds all it ever will.
        for (const std::int64_t tokens : {20000, 32768, 100001})
          CHECK(request_block_ids(geometry, tokens) == request_demand(plan, tokens).total());
      }
}

TEST_CASE("regression: hidden states, whose block is their own, are a group with that block") {
  EngineSpec spec = engine(CacheMode::align);
  spec.hidden_state_size = 4096;
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  const CacheGeometry geometry = geometry_of(plan, spec);
  validate(geometry);
  CHECK(geometry.attention_block_sizes == std::vector<std::int64_t>{2096, 262});
  for (const std::int64_t tokens : {1, 4000, 32768})
    CHECK(request_block_ids(geometry, tokens) == request_demand(plan, tokens).total());
}

TEST_CASE("regression: hidden states with the block of all others are one more attention group") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all}) {
    EngineSpec spec = engine(mode);
    spec.hidden_state_size = 256;  // 512 bytes a token, half of what attention takes
    const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
    const CacheGeometry geometry = geometry_of(plan, spec);
    CHECK(geometry.attention_groups == 2);
    CHECK(geometry.num_blocks == plan.num_blocks());
    for (const std::int64_t tokens : {1, 4000, 32768})
      CHECK(request_block_ids(geometry, tokens) == request_demand(plan, tokens).total());
  }
}

TEST_CASE("edge: a cache takes requests up to the longest of its plan's lengths") {
  const EngineSpec spec = engine(CacheMode::align);
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {4096, 32768, 1024}});
  CHECK(geometry_of(plan, spec).scheduler.max_model_len == 32768);
}

TEST_CASE("law: extra blocks of a request and auxiliary states count as in the plan") {
  EngineSpec spec{.cache_mode = CacheMode::align, .num_blocks = 730};
  const CachePlan plan = make_plan(testing::qwen38_flash_next(), spec, {.max_model_lens = {8192}});
  CHECK(request_block_ids(geometry_of(plan, spec), 8192) == request_demand(plan, 8192).total());
}

TEST_CASE("golden: a dual pool is two arenas, a state in small pages a group for each of its pages") {
  EngineSpec spec = engine(CacheMode::align);
  spec.strategy = Strategy::dual_pool;
  const CachePlan dual = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  const CacheGeometry apart = geometry_of(dual, spec);
  validate(apart);
  CHECK(apart.block_size_tokens == 16);
  CHECK(apart.num_blocks == dual.arenas[0].num_ids);
  CHECK(apart.more_arenas == std::vector<std::int64_t>{dual.arenas[1].num_ids});
  CHECK(apart.attention_groups == 1);
  CHECK(apart.state_groups == 1);
  CHECK(apart.state_arenas == std::vector<std::int64_t>{1});
  spec.strategy = Strategy::small_pages;
  const CachePlan small = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  const CacheGeometry split = geometry_of(small, spec);
  validate(split);
  CHECK(split.state_groups == 3 * 131);
  for (const std::int64_t tokens : {1, 4000, 32768})
    CHECK(request_block_ids(split, tokens) == request_demand(small, tokens).total());
}

TEST_CASE("golden: compact slots are the arenas of a dual pool, two-level pages an arena a group") {
  EngineSpec spec = engine(CacheMode::align);
  const auto plan_as = [&](Strategy strategy) {
    spec.strategy = strategy;
    return make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  };
  const CacheGeometry apart = geometry_of(plan_as(Strategy::dual_pool), spec);
  const CachePlan compact = plan_as(Strategy::compact_slots);
  CHECK(geometry_of(compact, spec) == apart);
  CHECK(request_demand(compact, 32768).ids == request_demand(plan_as(Strategy::dual_pool), 32768).ids);
  const CachePlan split = plan_as(Strategy::two_level);
  const CacheGeometry shared = geometry_of(split, spec);
  validate(shared);
  CHECK(shared.blocks_per_large_page == std::vector<std::int64_t>{512, 9, 3456});
  CHECK(shared.num_large_pages() == split.arenas.front().num_ids);
  CHECK(shared.state_arenas == std::vector<std::int64_t>{0, 1});
  CHECK(shared.attention_arenas == std::vector<std::int64_t>{2});
  std::int64_t pages = 0;  // those of one request
  for (std::int64_t arena = 0; arena < shared.num_arenas(); ++arena)
    pages += ceil_div(request_block_ids(shared, 32768, arena), shared.blocks_per_large_page[arena]);
  CHECK(pages == request_demand(split, 32768).total());
  CHECK(request_demand(split, longest_request(shared)).total() < shared.num_large_pages());
}

TEST_CASE("law: windows take the ids of their plan, whatever the layout and the length") {
  for (const AttentionKind kind : {AttentionKind::sliding_window, AttentionKind::chunked_local, AttentionKind::mla})
    for (const Strategy strategy : {Strategy::packed_attention, Strategy::dual_pool, Strategy::small_pages,
                                    Strategy::compact_slots, Strategy::two_level})
      for (const std::int64_t modules : {0, 1, 2}) {
        CAPTURE(to_string(strategy));
        CAPTURE(modules);
        ModelSpec model = testing::hybrid_model("windows", 6, AttentionSpec{AttentionKind::full, 4, 2, 32, 32, 0},
                                                GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
        model.layers[3].attention->kind = kind;
        model.layers[3].attention->window_tokens = 67;
        if (kind == AttentionKind::mla) model.layers[3].attention->kv_heads = 1;
        EngineSpec spec;
        spec.strategy = strategy;
        spec.memory_bytes = std::int64_t{64} << 20;
        spec.max_num_batched_tokens = 2048;
        spec.speculative_tokens = modules;
        spec.mtp_layers = modules;
        const CachePlan plan = make_plan(model, spec, {.max_model_lens = {4096}});
        const CacheGeometry geometry = geometry_of(plan, spec);
        validate(geometry);
        for (const std::int64_t tokens : {1, 60, 1000, 4096})
          for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
            CAPTURE(tokens);
            CAPTURE(arena);
            const std::int64_t blocks = request_block_ids(geometry, tokens, arena);
            if (strategy != Strategy::two_level)
              CHECK(blocks == request_demand(plan, tokens).ids[static_cast<std::size_t>(arena)]);
          }
        CHECK(longest_request(geometry) == plan.max_fitting_tokens);
      }
}

TEST_CASE("law: a drafter of several modules keeps tokens behind the window in 0.33, in the plan as in the replay") {
  ModelSpec model = testing::hybrid_model("windows", 6, AttentionSpec{AttentionKind::full, 4, 2, 32, 32, 0},
                                          GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  model.layers[3].attention->kind = AttentionKind::sliding_window;
  model.layers[3].attention->window_tokens = 1;
  EngineSpec spec;
  spec.rules = &rules_of_vllm_0_33;
  spec.memory_bytes = std::int64_t{64} << 20;
  spec.max_num_batched_tokens = 1024;
  spec.speculative_tokens = 18;
  std::vector<std::int64_t> ids;
  for (const std::int64_t modules : {1, 2}) {
    spec.mtp_layers = modules;
    const CachePlan plan = make_plan(model, spec, {.max_model_lens = {4096}});
    CHECK(request_block_ids(geometry_of(plan, spec), 4096) == request_demand(plan, 4096).total());
    CHECK(plan.lookahead_tokens == (modules == 1 ? 1 : 18));
    ids.push_back(plan.capacity.front().ids_by_cause.in_flight_window);
  }
  // 2 * 1,024 tokens fill whole blocks, and 17 more take one.
  CHECK(ids[1] == ids[0] + 1);
}

TEST_CASE("golden: states on a grid of their own and attention in small blocks keep their two numbers") {
  EngineSpec spec = engine(CacheMode::all);
  spec.strategy = Strategy::dual_pool;
  spec.mamba_block_size_tokens = 256;
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {8192}});
  const CacheGeometry geometry = geometry_of(plan, spec);
  validate(geometry);
  CHECK(geometry.block_size_tokens == 16);
  CHECK(geometry.state_block_size_tokens == 256);
}

TEST_CASE("edge: a plan of 0.33 exports states only where every recurrent group can") {
  EngineSpec spec = engine(CacheMode::align);
  spec.tensor_parallel = 1;
  spec.rules = &rules_of_vllm_0_33;
  ModelSpec model = testing::hybrid_model("two kinds", 8, AttentionSpec{AttentionKind::full, 4, 2, 32, 32, 0},
                                          Mamba2Spec{8, 32, 32, 1, 4}, [](std::int64_t i) { return i % 4 == 3; });
  const auto checkpoint_blocks = [&] {
    const CacheGeometry geometry = geometry_of(make_plan(model, spec, {.max_model_lens = {4096}}), spec);
    validate(geometry);
    return geometry.rules.checkpoint_blocks;
  };
  CHECK(checkpoint_blocks() == 1);
  for (const std::size_t layer : {0, 4}) model.layers[layer].recurrent = ShortConvSpec{64, 3};
  CHECK(checkpoint_blocks() == 0);
}

TEST_CASE("edge: pools under a radix tree are no blocks, and their release is refused with a way out") {
  EngineSpec spec = engine(CacheMode::align);
  spec.rules = &rules_of_sglang_0_5_23;
  spec.strategy = Strategy::dual_pool;
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  CHECK_THROWS_WITH_AS(geometry_of(plan, spec),
                       "engine.release: SGLang 0.5.23 finds prefixes in a radix tree, which `hybridkv simulate` and "
                       "`hybridkv compare` replay; here take vllm-0.32, vllm-0.33 or "
                       "vllm-2026-06, which have blocks",
                       SpecError);
}

TEST_CASE("law: the prefix cache of 0.33 is that of the release in every layout, and requests take what plans say") {
  for (const std::int64_t pack : {1, 3, 5})
    for (const Strategy strategy : {Strategy::packed_attention, Strategy::dual_pool, Strategy::small_pages,
                                    Strategy::compact_slots})
      for (const CacheMode mode : {CacheMode::none, CacheMode::align})
        for (const std::int64_t drafts : {0, 2}) {
          CAPTURE(pack);
          CAPTURE(to_string(strategy));
          CAPTURE(to_string(mode));
          CAPTURE(drafts);
          EngineSpec spec = engine(mode);
          spec.rules = &rules_of_vllm_0_33;
          spec.backend_profile = BackendProfile::sm90;
          spec.strategy = strategy;
          spec.attention_pack_size = pack;
          spec.speculative_tokens = drafts;
          spec.mtp_layers = drafts > 0 ? 1 : 0;
          const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
          const CacheGeometry geometry = geometry_of(plan, spec);
          validate(geometry);
          CHECK(geometry.retention_interval_tokens == 0);
          CHECK(geometry.rules.checkpoint_blocks == (mode == CacheMode::align ? 1 : 0));
          CHECK(geometry.in_flight_tokens == 2 * spec.max_num_batched_tokens);
          CHECK(geometry.rules.lookahead_tokens == (drafts > 0 ? 1 : 0));
          CHECK_FALSE(geometry.drafter_drops_block);
          CHECK(geometry.modelled_layout == (strategy != Strategy::packed_attention));
          if (mode == CacheMode::align) CHECK(geometry.resume_step() == plan.prefix.match_unit_tokens);
          for (const std::int64_t tokens : {1, 4000, 32768})
            for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
              CHECK(request_block_ids(geometry, tokens, arena) == request_demand(plan, tokens).ids[arena]);
          CHECK(longest_request(geometry) == plan.max_fitting_tokens);
        }
}

TEST_CASE("golden: Qwen3.5-397B packed by five under 0.33 holds 15 exported states and 2,775,360 tokens at most") {
  EngineSpec spec = engine(CacheMode::align);
  spec.rules = &rules_of_vllm_0_33;
  spec.backend_profile = BackendProfile::sm90;
  spec.attention_pack_size = 5;
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  const CacheGeometry geometry = geometry_of(plan, spec);
  CHECK(plan.capacity.front().ids_by_cause.checkpoints == 15);
  CHECK(geometry.state_groups * geometry.rules.checkpoint_blocks == 15);
  CHECK(longest_request(geometry) == 2'775'360);
  const std::vector<ModelledRule> rules = modelled_rules(geometry);  // the engine plans it so, with a builder
  CHECK(std::find(rules.begin(), rules.end(), ModelledRule::layout) == rules.end());
}

TEST_CASE("edge: large pages take no rules of 0.33, and the refusal names the strategy") {
  EngineSpec spec = engine(CacheMode::align);
  spec.rules = &rules_of_vllm_0_33;
  spec.strategy = Strategy::two_level;
  const CachePlan plan = make_plan(testing::qwen35_397b(), spec, {.max_model_lens = {32768}});
  CHECK_THROWS_WITH_AS(geometry_of(plan, spec),
                       "engine.strategy: vLLM 0.33.0 finds prefixes in pools of blocks alone, not in large pages that "
                       "groups share; take engine.release jenga, or another engine.strategy",
                       SpecError);
}

TEST_CASE("law: a unit of the user's decides what gdn exports wherever it is set; ranks that share tokens hit finely") {
  EngineSpec spec = engine(CacheMode::align);
  spec.rules = &rules_of_vllm_0_33;
  spec.backend_profile = BackendProfile::sm90;
  const LimitsSpec limits{.max_model_lens = {32768}};
  CacheGeometry later = geometry_of(make_plan(testing::qwen35_397b(), spec, limits), spec);
  CHECK(later.checkpoint_alignment() == 2112);
  later.match_unit_tokens = 96;
  CHECK(later.checkpoint_alignment() == 192);
  spec.prefix_match_unit_tokens = 96;
  const CacheGeometry planned = geometry_of(make_plan(testing::qwen35_397b(), spec, limits), spec);
  CHECK(planned == later);

  spec.prefix_match_unit_tokens.reset();
  spec.decode_context_parallel = 2;
  const CachePlan shared = make_plan(testing::qwen35_397b(), spec, limits);
  const CacheGeometry geometry = geometry_of(shared, spec);
  CHECK(shared.prefix.match_unit_tokens == 2112);
  CHECK(geometry.resume_step() == 2112);
}

TEST_CASE("law: layers that share K and V change nothing that is replayed, nor do indexers in the table of one kind") {
  ModelSpec plain = testing::hybrid_model("plain", 6, testing::latent_attention(64, 0), GdnSpec{2, 4, 16, 16, 4},
                                          [](std::int64_t i) { return i % 2 == 1; });
  ModelSpec dense = plain;
  for (LayerSpec& layer : dense.layers) layer = {.attention = testing::latent_attention(64, 0)};
  for (ModelSpec* const model : {&plain, &dense}) model->layers.resize(8);
  ModelSpec shared = plain, indexed = dense;
  shared.layers[6].shared = SharedKv{5, 2, std::nullopt};
  shared.layers[7].shared = SharedKv{3, 2, std::nullopt};
  indexed.layers[3].attention->indexer = IndexerSpec{33, 4};
  indexed.layers[7].shared = SharedKv{3, 2, IndexerSpec{33, 4}};
  EngineSpec spec{.rules = &rules_of_vllm_0_33, .cache_mode = CacheMode::align};
  spec.cache_order = CacheOrder::blnhc;
  spec.num_blocks = 2000;
  const auto geometry = [&](const ModelSpec& model) {
    return geometry_of(make_plan(model, spec, {.max_model_lens = {8192}}), spec);
  };
  CHECK(geometry(shared) == geometry(plain));
  CHECK(geometry(indexed).attention_groups == geometry(dense).attention_groups);
  CHECK(geometry(indexed).match_unit() == geometry(dense).match_unit());
  CHECK(request_block_ids(geometry(indexed), 8192) == request_block_ids(geometry(dense), 8192));
}

TEST_CASE("golden: an encoder's blocks are held from admission on, no prefix is found, and prompts are not cut") {
  EngineSpec spec{.rules = &rules_of_vllm_0_33, .memory_bytes = 10 * testing::gib, .max_num_batched_tokens = 1024};
  const CachePlan plan = make_plan(testing::whisper_large(), spec, {.max_model_lens = {448}});
  const CacheGeometry geometry = geometry_of(plan, spec);
  validate(geometry);
  CHECK(geometry.attention_groups == 1);
  REQUIRE(geometry.held_groups.size() == 1);
  CHECK(geometry.held_groups.front().blocks(1) == 94);
  CHECK(!geometry.caches_prefixes());
  CHECK(predicted_copy_hit(geometry, 448, 2) == 0);
  for (const std::int64_t tokens : {1, 100, 448})
    CHECK(request_block_ids(geometry, tokens) == request_demand(plan, tokens).total());
  CHECK(longest_request(geometry) == plan.max_fitting_tokens);
  CHECK(geometry.allowed_chunk(100, 100) == 100);
  CHECK(geometry.allowed_chunk(99, 100) == 0);
}
