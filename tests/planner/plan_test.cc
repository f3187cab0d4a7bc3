// Whole plans: the table of vLLM PR 35703, derivation, determinism, refusals.
#include "planner/plan.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <variant>

#include "engines/vllm/rules.h"
#include "planner/block_size.h"
#include "planner/primary_attention.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One row of the table of section 6, as it is printed.
struct PackRow {
  std::int64_t pack, block, page;
  const char* padding;
  std::int64_t packs, pools, attention_groups, recurrent_groups;
  const char* mib_per_request;
};

const PackRow pack_rows[] = {
    {1, 2096, 2'146'304, "0.58", 15, 15, 1, 3, "675.5"}, {2, 1056, 2'162'688, "1.34", 8, 8, 1, 6, "726.0"},
    {3, 704, 2'162'688, "1.34", 5, 5, 1, 9, "670.3"},    {4, 528, 2'162'688, "1.34", 4, 4, 1, 12, "717.8"},
    {5, 432, 2'211'840, "3.65", 3, 3, 1, 15, "670.8"},   {8, 272, 2'228'224, "4.41", 2, 2, 1, 23, "709.8"},
    {15, 144, 2'211'840, "3.65", 1, 1, 1, 45, "670.8"},
};

EngineSpec deployment_of_section_6() {
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 40 * gib;
  return engine;
}

std::int64_t groups_of(const CachePlan& plan, std::int64_t spec) {
  return std::count_if(plan.groups.begin(), plan.groups.end(),
                       [&](const GroupPlan& group) { return group.spec == spec; });
}

std::optional<Term> decided(const CachePlan& plan, const std::string& symbol) {
  for (const Decision& decision : plan.derivation)
    if (decision.result.symbol == symbol) return decision.result;
  return std::nullopt;
}

bool decided_as(const CachePlan& plan, const std::string& symbol, std::int64_t value) {
  const auto term = decided(plan, symbol);
  return term && term->value == std::variant<std::int64_t, double, std::string>(value);
}

std::string refusal(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits) {
  try {
    make_plan(model, engine, limits);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("golden: the table of packs of Qwen3.5-397B-A17B at TP2 in 40 GiB") {
  const LimitsSpec limits{.max_model_lens = {32'768}};
  for (const PackRow& row : pack_rows) {
    CAPTURE(row.pack);
    EngineSpec engine = deployment_of_section_6();
    engine.attention_pack_size = row.pack;
    const CachePlan plan = make_plan(qwen35_397b(), engine, limits);
    const SpecPlan& gdn = plan.specs[0];
    const SpecPlan& attention = plan.specs[1];
    CHECK(attention.bytes_per_token == 1024);
    CHECK(gdn.state->bytes == 2'134'016);
    CHECK(attention.block_size_tokens == row.block);
    CHECK(plan.page_bytes() == row.page);
    CHECK(fmt::format("{:.2f}", gdn.padding_percent) == row.padding);
    CHECK(attention.padding_percent == 0.0);
    CHECK(attention.num_pages == row.packs);
    CHECK(std::ssize(plan.pools) == row.pools);
    CHECK(groups_of(plan, attention.id) == row.attention_groups);
    CHECK(groups_of(plan, gdn.id) == row.recurrent_groups);
    CHECK(plan.num_blocks() == 40 * gib / row.page / row.pools);
    const double request_mib = static_cast<double>(plan.capacity.front().bytes_per_request) / static_cast<double>(mib);
    CHECK(fmt::format("{:.1f}", request_mib) == row.mib_per_request);
  }
}

TEST_CASE("golden: make_plans gives one plan per pack size, in the order asked for") {
  const std::int64_t packs[] = {4, 1, 5};
  const LimitsSpec limits{.max_model_lens = {32'768}};
  EngineSpec engine = deployment_of_section_6();
  engine.attention_pack_size = 99;
  const PlanSet set = make_plans(qwen35_397b(), engine, limits, packs);
  CHECK(set.model == "Qwen3.5-397B-A17B");
  CHECK(set.tensor_parallel == 2);
  CHECK(set.strategy == "packed_attention");
  REQUIRE(set.plans.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(set.plans[i].attention_pack_size == packs[i]);
  engine.attention_pack_size = 1;
  CHECK(set.plans[1].views == make_plan(qwen35_397b(), engine, limits).views);
  const std::int64_t one[] = {1};
  CHECK(make_plans(qwen35_397b(), engine, limits, one).strategy == "uniform_page");
}

TEST_CASE("golden: the state padding, the page and the capacity carry their rule and inputs") {
  const CachePlan plan = make_plan(qwen35_397b(), deployment_of_section_6(), {.max_model_lens = {32'768}});
  const auto block = std::find_if(plan.derivation.begin(), plan.derivation.end(),
                                  [](const Decision& decision) { return decision.result.symbol == "B"; });
  REQUIRE(block != plan.derivation.end());
  CHECK(block->rule == "B = A * ceil(M / (A * N * a1))");
  CHECK(block->inputs == std::vector<Term>{{"A", std::int64_t(16), "tokens"},
                                           {"M", std::int64_t(2'134'016), "bytes"},
                                           {"N", std::int64_t(1), ""},
                                           {"a1", std::int64_t(1024), "bytes"}});
  CHECK(!block->source.empty());
  for (const Decision& decision : plan.derivation) {
    CAPTURE(decision.result.symbol);
    CHECK(!decision.rule.empty());
    CHECK(!decision.source.empty());
  }
}

TEST_CASE("edge: memory too small names the smallest that works") {
  EngineSpec engine = deployment_of_section_6();
  engine.memory_bytes = gib / 2;
  // ids = ceil(32768 / 2096) + 3 * 2 = 22 over 15 pools.
  CHECK(
      refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) ==
      "engine.memory: 536870912 bytes (512.00 MiB) are too little: one request of 32,768 tokens takes 22 blocks of "
      "32194560 bytes, so the smallest that works is 708280320 bytes (675.47 MiB), and one block more for it to finish "
      "beside the null block; the longest request that fits now is 18,864 tokens");
  engine.memory_bytes = 1;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}).find("708280320 bytes") != std::string::npos);
  engine.memory_bytes = 708'280'319;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) != "accepted");
  engine.memory_bytes = 708'280'320;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) == "accepted");
}

TEST_CASE("edge: too few blocks set by the user are a warning, blocks beyond 64 bits are refused") {
  EngineSpec engine = deployment_of_section_6();
  engine.num_blocks = 21;
  const CachePlan few = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(!few.capacity.front().fits);
  REQUIRE(!few.warnings.empty());
  CHECK(few.warnings.back().code == "length_does_not_fit");
  engine.num_blocks = std::int64_t(1) << 62;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) ==
        "engine.num_blocks: 4611686018427387904 blocks of 32194560 bytes are too large for 64 bits; at most "
        "286488525914");
}

TEST_CASE("edge: a release that leaves the null block out names the blocks that are too few, not memory") {
  EngineSpec engine = deployment_of_section_6();
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm90;
  engine.num_blocks = 25;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) ==
        "engine.num_blocks: 25 are too few: one request of 32,768 tokens takes 25 blocks, and of each kind one is the "
        "null block, which nobody gets; give more, or leave it out for those of the memory; the longest request that "
        "fits now is 31,680 tokens");
  engine.num_blocks = 26;
  CHECK(refusal(qwen35_397b(), engine, {.max_model_lens = {32'768}}) == "accepted");
}

TEST_CASE("edge: one length that fits is enough, the others are told by a warning") {
  EngineSpec engine = deployment_of_section_6();
  engine.num_blocks = 22;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {262'144, 32'768}});
  CHECK(plan.capacity[1].fits);
  CHECK(!plan.capacity[0].fits);
}

TEST_CASE("law: the smallest memory that a refusal names works, and one byte less does not") {
  int named = 0;
  CHECK(check_plans("smallest memory", 2'000, SpecSize::real, [&](const RandomSpecs& specs, const CachePlan&) {
    RandomSpecs poor = specs;
    poor.engine.num_blocks.reset();
    poor.engine.memory_bytes = 1;
    poor.limits.load_tokens.clear();
    const std::string message = refusal(poor.model, poor.engine, poor.limits);
    const std::string phrase = "the smallest that works is ";
    const std::size_t found = message.find(phrase);
    RC_ASSERT(found != std::string::npos);
    poor.engine.memory_bytes = std::stoll(message.substr(found + phrase.size()));
    RC_ASSERT(refusal(poor.model, poor.engine, poor.limits) == "accepted");
    --poor.engine.memory_bytes;
    RC_ASSERT(refusal(poor.model, poor.engine, poor.limits) != "accepted");
    ++named;
  }));
  CHECK(named == 2'000);
}

TEST_CASE("law: the same specs give the same plan") {
  CHECK(check_plans("determinism", 2'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    RC_ASSERT(plan_of(specs) == plan);
  }));
}

TEST_CASE("law: a plan in less detail is the full one without what is left out, refused for the same reasons") {
  int refused = 0;
  CHECK(check_times("numbers alone", 5'000, [&] {
    RandomSpecs specs = *random_specs();
    if (*rc::gen::inRange(0, 3) == 0) specs.engine.page_alignment_bytes = *rc::gen::inRange(1, 40);  // views may refuse
    const auto answer = [&](PlanDetail detail) -> std::variant<CachePlan, std::string> {
      try {
        return make_plan(specs.model, specs.engine, specs.limits, std::nullopt, detail);
      } catch (const Error& error) {
        return std::string(error.what());
      }
    };
    auto full = answer(PlanDetail::full);
    if (CachePlan* plan = std::get_if<CachePlan>(&full)) {
      RC_ASSERT(!plan->derivation.empty() && !plan->views.empty());
      plan->views.clear();
      RC_ASSERT(std::get<CachePlan>(answer(PlanDetail::derived)) == *plan);
      plan->derivation.clear();
    } else {
      ++refused;
    }
    RC_ASSERT(answer(PlanDetail::numbers) == full);
    if (CachePlan* plan = std::get_if<CachePlan>(&full)) {
      for (GroupPlan& group : plan->groups) group.pages.clear();
      for (PoolPlan& pool : plan->pools) pool.shared_by.clear();
    }
    RC_ASSERT(answer(PlanDetail::summary) == full);
  }));
  CHECK(refused > 100);
}

TEST_CASE("law: the derivation gives every number of the plan") {
  CHECK(check_plans("derivation", 5'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    if (primary_attention(plan) != nullptr) RC_ASSERT(decided_as(plan, "A", alignment_grain(specs.engine, {}, {})));
    RC_ASSERT(decided_as(plan, "P", plan.page_bytes()));
    RC_ASSERT(decided_as(plan, "g", std::ssize(plan.pools)));
    RC_ASSERT(decided_as(plan, "num_blocks", plan.num_blocks()));
    RC_ASSERT(decided_as(plan, "usable blocks", plan.usable_blocks()));
    RC_ASSERT(decided_as(plan, "match unit", plan.prefix.match_unit_tokens));
    for (const SpecPlan& spec : plan.specs) {
      RC_ASSERT(decided_as(plan, fmt::format("groups of spec {} ({})", spec.id, spec.kind), groups_of(plan, spec.id)));
      if (spec.state) continue;
      RC_ASSERT(decided_as(plan, "B", spec.block_size_tokens) ||
                decided_as(plan, "block of " + spec_label(spec), spec.block_size_tokens));
    }
    for (const CapacityPlan& capacity : plan.capacity) {
      const auto same = [&](const Decision& decision) {
        return decision.result == Term{"block ids of one request", capacity.blocks_per_request, "blocks"};
      };
      RC_ASSERT(std::any_of(plan.derivation.begin(), plan.derivation.end(), same));
    }
  }));
}
