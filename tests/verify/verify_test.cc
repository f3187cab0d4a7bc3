#include "verify/verify.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "tests/verify/plans.h"
#include "verify/check_table.h"
#include "verify/fault/plant.h"

using namespace hybridkv;
using testing::small_plan;

namespace {

std::string failure_lines(const VerifyReport& report) {
  std::string text;
  for (const CheckResult& check : report.checks)
    if (check.status != CheckStatus::passed) text += check.name + ": " + check.message + "\n";
  return text;
}

VerifyReport verify_pack(const CachePlan& plan, Fault fault) {
  VerifySpec spec;
  spec.fault = fault;
  return verify_plan(plan, spec);
}

/// A small plan by rules that no engine has.
CachePlan supposed_small_plan(const EngineRules& rules) {
  const ModelSpec model = testing::hybrid_model(
      "small", 12, AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  EngineSpec engine{.rules = &rules, .ssm_dtype = DType::fp32, .cache_mode = CacheMode::align};
  engine.memory_bytes = std::int64_t(64) << 20;
  engine.what_if.block_formula = "3 * A";
  engine.what_if.page_bytes = 24 << 10;
  engine.what_if.groups = {{1, 3, 5, 7}, {9, 11}, {0, 2}, {4}, {6, 8, 10}};
  engine.what_if.states = {.first_byte = 96, .alignment = 64, .recurrent_first = true};
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {256}});
}

}  // namespace

TEST_CASE("law: a plan by rules that no engine has passes every check, and faults in it are found") {
  for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33}) {
    CAPTURE(rules->name);
    const CachePlan plan = supposed_small_plan(*rules);
    const VerifyReport report = verify_plan(plan, {});
    CAPTURE(failure_lines(report));
    CHECK(report.passed());
    for (const Fault fault : {Fault::states_exchanged, Fault::misaligned_state, Fault::stale_block, Fault::lost_kv}) {
      CAPTURE(to_string(fault));
      CHECK(verify_pack(plan, fault).caught());
    }
  }
}

TEST_CASE("law: a right plan passes every check, for every pack, mode and cache dtype") {
  for (const std::int64_t pack : {1, 2, 3, 4, 5, 6, 8})
    for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
      for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2}) {
        CAPTURE(pack);
        CAPTURE(to_string(mode));
        CAPTURE(to_string(dtype));
        const VerifyReport report = verify_plan(small_plan(pack, mode, dtype), {});
        CAPTURE(failure_lines(report));
        CHECK(report.passed());
        REQUIRE(report.checks.size() == all_checks().size());
        for (const CheckResult& check : report.checks)
          if (check.name != "padding-untouched") CHECK((check.count > 0 || check.status == CheckStatus::declined));
      }
}

TEST_CASE("law: states of more bytes than are drawn at once, and no multiple of them, pass every check") {
  // Four heads of 20 x 16 values in fp32 are 5,120 bytes, of which 4,096 are drawn at once.
  const ModelSpec model = testing::hybrid_model(
      "long states", 4, AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{2, 4, 20, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  EngineSpec engine{.ssm_dtype = DType::fp32, .cache_mode = CacheMode::align};
  engine.memory_bytes = std::int64_t(16) << 20;
  const VerifyReport report = verify_plan(make_plan(model, engine, LimitsSpec{.max_model_lens = {256}}), {});
  CAPTURE(failure_lines(report));
  CHECK(report.passed());
}

TEST_CASE("law: the same seed checks the same, another one other blocks") {
  const CachePlan plan = small_plan(3);
  const VerifyReport first = verify_plan(plan, {});
  const VerifyReport second = verify_plan(plan, {});
  CHECK(first.checks == second.checks);
  CHECK(first.max_element_offset > 0);
}

TEST_CASE("edge: a fault that this plan has no place for is refused, not reported as caught") {
  CHECK_THROWS_WITH_AS(verify_pack(small_plan(3), Fault::narrow_offsets),
                       doctest::Contains("its largest element offset is"), NoPlaceError);
  ModelSpec attention_only = testing::two_layer_model();
  attention_only.layers.erase(attention_only.layers.begin());
  EngineSpec engine;
  engine.memory_bytes = 1 << 20;
  const CachePlan plan = make_plan(attention_only, engine, LimitsSpec{.max_model_lens = {64}});
  for (const Fault fault :
       {Fault::misaligned_state, Fault::odd_stride, Fault::padding_reused, Fault::pack_index, Fault::zero_full_page,
        Fault::copy_full_page, Fault::pack_reversed, Fault::states_exchanged, Fault::lost_state, Fault::kv_over_state,
        Fault::state_over_kv}) {
    CAPTURE(to_string(fault));
    CHECK_THROWS_AS(verify_pack(plan, fault), NoPlaceError);
  }
  CHECK(verify_plan(plan, {}).passed());
  // A prompt alone reads nothing from the cache, so a block table can be as stale as it likes.
  VerifySpec spec;
  spec.requests = {{.tokens = 5, .query_tokens = 5}};
  for (const Fault fault : {Fault::stale_block, Fault::lost_merge}) {
    spec.fault = fault;
    CHECK_THROWS_AS(verify_plan(plan, spec), NoPlaceError);
  }
}

TEST_CASE("edge: more than the resident budget is refused with the number, before anything is allocated") {
  VerifySpec spec;
  spec.resident_budget_bytes = 4096;
  CHECK_THROWS_AS(verify_plan(small_plan(3), spec), ResourceError);
}

TEST_CASE("golden: requests of given lengths are a chunk, a decode, a decode with drafts and a fresh prompt in turn") {
  const auto queries_of = [](const std::vector<std::int64_t>& tokens) {
    std::vector<std::int64_t> queries;
    for (const BatchRequest& request : requests_of_lengths(tokens)) queries.push_back(request.query_tokens);
    return queries;
  };
  CHECK(queries_of({100, 100, 100, 100, 100}) == std::vector<std::int64_t>{8, 1, 3, 32, 8});
  // None has more new tokens than tokens.
  CHECK(queries_of({2, 2, 2, 20}) == std::vector<std::int64_t>{2, 1, 2, 20});
  const std::vector<std::int64_t> four{100, 100, 100, 100};
  const std::vector<BatchRequest> requests = requests_of_lengths(four);
  REQUIRE(requests.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(requests[i].is_decode == (i == 1 || i == 2));
}

TEST_CASE("edge: requests that the pools cannot hold are refused with both numbers") {
  VerifySpec spec;
  const std::vector<std::int64_t> tokens{100000000};
  spec.requests = requests_of_lengths(tokens);
  CHECK_THROWS_WITH_AS(verify_plan(small_plan(3), spec), doctest::Contains("usable ones"), InputError);
  const std::vector<std::int64_t> empty{0};
  CHECK_THROWS_WITH_AS(requests_of_lengths(empty), doctest::Contains("at least 1 token, not 0"), InputError);
}

TEST_CASE("edge: the smallest pools still verify, with fewer requests") {
  const CachePlan roomy = small_plan(3);
  const std::int64_t block_bytes = roomy.page_bytes() * static_cast<std::int64_t>(roomy.pools.size());
  std::size_t most = 0;
  for (const std::int64_t blocks : {20, 24, 32, 64}) {
    const CachePlan plan = small_plan(3, CacheMode::none, DType::bf16, blocks * block_bytes);
    const VerifyReport report = verify_plan(plan, {});
    CAPTURE(failure_lines(report));
    CHECK(report.passed());
    CHECK(report.requests.size() >= most);
    most = report.requests.size();
  }
}

TEST_CASE("edge: what computes attention has nothing to compute where no layer has any, and is not called passed") {
  const ModelSpec model = hybridkv::testing::hybrid_model(
      "states", 4, AttentionSpec{}, GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t) { return false; });
  EngineSpec engine;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = std::int64_t(16) << 20;
  const VerifyReport report = verify_plan(make_plan(model, engine, LimitsSpec{.max_model_lens = {256}}), {});
  CAPTURE(failure_lines(report));
  CHECK(report.passed());
  int declined = 0;
  for (const CheckResult& check : report.checks)
    if (check.status == CheckStatus::declined) {
      CHECK(check.message == "no layer has attention");
      CHECK(check.count == 0);
      ++declined;
    }
  CHECK(declined > 1);
}
