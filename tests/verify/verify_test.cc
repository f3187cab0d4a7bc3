#include "verify/verify.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "layout/error.h"
#include "tests/verify/plans.h"

using namespace hybridkv;
using testing::small_plan;

namespace {

std::string failures(const VerifyReport& report) {
  std::string text;
  for (const CheckResult& check : report.checks)
    if (check.status != CheckStatus::passed) text += check.name + ": " + check.message + "\n";
  return text;
}

const CheckResult& check_named(const VerifyReport& report, std::string_view name) {
  const auto found = std::find_if(report.checks.begin(), report.checks.end(),
                                  [&](const CheckResult& check) { return check.name == name; });
  REQUIRE(found != report.checks.end());
  return *found;
}

VerifyReport verify_with(const CachePlan& plan, Fault fault) {
  VerifySpec spec;
  spec.fault = fault;
  return verify_plan(plan, spec);
}

/// The fault is caught by that check, whose message names layer, block and byte.
void require_caught(const CachePlan& plan, Fault fault, std::string_view by) {
  CAPTURE(to_string(fault));
  const VerifyReport report = verify_with(plan, fault);
  CHECK_FALSE(report.passed());
  const CheckResult& check = check_named(report, by);
  CHECK(check.status == CheckStatus::failed);
  CAPTURE(check.message);
  CHECK(check.message.find("layer ") != std::string::npos);
  CHECK(check.message.find("block ") != std::string::npos);
  CHECK(check.message.find("byte ") != std::string::npos);
}

}  // namespace

TEST_CASE("law: a right plan passes every check, for every pack, mode and cache dtype") {
  for (const std::int64_t pack : {1, 2, 3, 4, 5, 6, 8})
    for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
      for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2}) {
        CAPTURE(pack);
        CAPTURE(to_string(mode));
        CAPTURE(to_string(dtype));
        const VerifyReport report = verify_plan(small_plan(pack, mode, dtype), {});
        CAPTURE(failures(report));
        CHECK(report.passed());
        CHECK(report.checks.size() == 15);
        for (const CheckResult& check : report.checks)
          if (check.name != "padding-untouched") CHECK(check.count > 0);
      }
}

TEST_CASE("law: the same seed checks the same, another one other blocks") {
  const CachePlan plan = small_plan(3);
  const VerifyReport first = verify_plan(plan, {});
  const VerifyReport second = verify_plan(plan, {});
  CHECK(first.checks == second.checks);
  CHECK(first.max_element_offset > 0);
}

TEST_CASE("fault: every planted fault is caught by the check that owns it") {
  // Above 2^31 elements a pool, so that 32-bit offsets go wrong; only touched pages become resident.
  const CachePlan plan = small_plan(3, CacheMode::align, DType::bf16, std::int64_t(24) << 30);
  require_caught(plan, Fault::stride_order, "address-audit-intervals");
  require_caught(plan, Fault::stride_order, "address-audit-enumerated");
  require_caught(plan, Fault::padded_split, "address-audit-intervals");
  require_caught(plan, Fault::pack_index, "address-audit-intervals");
  require_caught(plan, Fault::pack_index, "address-audit-enumerated");
  require_caught(plan, Fault::zero_full_page, "zero-one-block");
  require_caught(plan, Fault::narrow_offsets, "address-audit-sampled");
  require_caught(plan, Fault::misaligned_state, "alignment");
  require_caught(plan, Fault::padding_reused, "padding-untouched");
  require_caught(plan, Fault::null_block_used, "block-tables");
}

TEST_CASE("fault: a wrong address keeps every later check from running, and none of them counts as passed") {
  const VerifyReport report = verify_with(small_plan(3), Fault::stride_order);
  CHECK(check_named(report, "states-written").status == CheckStatus::not_run);
  CHECK(check_named(report, "copy-one-block").status == CheckStatus::not_run);
  CHECK(report.first_failure()->name == "address-audit-intervals");
}

TEST_CASE("fault: the null block in a table is also seen in its bytes") {
  const VerifyReport report = verify_with(small_plan(2), Fault::null_block_used);
  CHECK(check_named(report, "null-and-guard-blocks-untouched").status == CheckStatus::failed);
}

TEST_CASE("edge: a fault that this plan has no place for is refused, not reported as caught") {
  CHECK_THROWS_WITH_AS(verify_with(small_plan(3), Fault::narrow_offsets),
                       doctest::Contains("its largest element offset is"), InputError);
  ModelSpec attention_only = testing::two_layer_model();
  attention_only.layers.erase(attention_only.layers.begin());
  EngineSpec engine;
  engine.memory_bytes = 1 << 20;
  const CachePlan plan = make_plan(attention_only, engine, LimitsSpec{.max_model_lens = {64}});
  CHECK_THROWS_AS(verify_with(plan, Fault::misaligned_state), InputError);
  CHECK_THROWS_AS(verify_with(plan, Fault::padding_reused), InputError);
  CHECK_THROWS_AS(verify_with(plan, Fault::pack_index), InputError);
  CHECK_THROWS_AS(verify_with(plan, Fault::zero_full_page), InputError);
  CHECK(verify_plan(plan, {}).passed());
}

TEST_CASE("edge: more than the resident budget is refused with the number, before anything is allocated") {
  VerifySpec spec;
  spec.resident_budget_bytes = 4096;
  CHECK_THROWS_AS(verify_plan(small_plan(3), spec), ResourceError);
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
  const std::int64_t block_bytes = roomy.page_bytes * static_cast<std::int64_t>(roomy.pools.size());
  std::size_t most = 0;
  for (const std::int64_t blocks : {20, 24, 32, 64}) {
    const CachePlan plan = small_plan(3, CacheMode::none, DType::bf16, blocks * block_bytes);
    const VerifyReport report = verify_plan(plan, {});
    CAPTURE(failures(report));
    CHECK(report.passed());
    CHECK(report.requests.size() >= most);
    most = report.requests.size();
  }
}
