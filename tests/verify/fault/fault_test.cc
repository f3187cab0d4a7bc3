// Every check is shown able to fail, by a fault that it owns.
#include "verify/fault/fault.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/verify/check_named.h"
#include "tests/verify/plans.h"
#include "verify/attention_check.h"
#include "verify/check_table.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::check_named;
using testing::small_plan;

namespace {

VerifyReport verify_with(const CachePlan& plan, Fault fault) {
  VerifySpec spec;
  spec.fault = fault;
  return verify_plan(plan, spec);
}

/// The fault is caught by that check, whose message names layer (of a guard block there is none), block and byte.
void require_caught(const CachePlan& plan, Fault fault, std::string_view by) {
  CAPTURE(to_string(fault));
  const VerifyReport report = verify_with(plan, fault);
  CHECK_FALSE(report.passed());
  const CheckResult& check = check_named(report, by);
  CHECK(check.status == CheckStatus::failed);
  CAPTURE(check.message);
  CHECK((check.message.find("layer ") != std::string::npos || check.message.starts_with("guard block ")));
  CHECK(check.message.find("block ") != std::string::npos);
  CHECK(check.message.find("byte ") != std::string::npos);
}

std::set<std::string> failing(const VerifyReport& report) {
  std::set<std::string> names;
  for (const CheckResult& check : report.checks)
    if (check.status == CheckStatus::failed) names.insert(check.name);
  return names;
}

}  // namespace

TEST_CASE("fault: every planted fault is caught by the check that owns it") {
  const CachePlan plan = small_plan(3);
  // Above 2^31 elements a pool, so that 32-bit offsets go wrong; only touched pages become resident.
  const CachePlan large = small_plan(3, CacheMode::align, DType::bf16, std::int64_t(24) << 30);
  const CachePlan with_scales = small_plan(3, CacheMode::align, DType::fp8_e4m3);
  const auto arranged = [](Strategy strategy) {
    return small_plan(1, CacheMode::align, DType::bf16, std::int64_t(64) << 20, strategy);
  };
  const CachePlan slots = arranged(Strategy::compact_slots), split = arranged(Strategy::two_level);
  const CachePlan with_encoder = testing::encoder_plan();
  const auto plan_for = [&](Fault fault) -> const CachePlan& {
    switch (fault) {
      case Fault::narrow_offsets: return large;
      case Fault::scale_exchanged: return with_scales;
      case Fault::slot_stride: return slots;
      case Fault::small_page_shifted:
      case Fault::foreign_large_page: return split;
      case Fault::shared_encoder:
      case Fault::encoder_cut: return with_encoder;
      default: return plan;
    }
  };
  for (const FaultInfo& info : all_faults()) require_caught(plan_for(info.fault), info.fault, info.found_by);
  require_caught(plan, Fault::stride_order, "address-audit-intervals");
  require_caught(plan, Fault::pack_index, "address-audit-enumerated");
}

TEST_CASE("law: every check of the table owns a fault, every fault has its check and its name") {
  std::set<std::string_view> owners, checks, names;
  for (const FaultInfo& info : all_faults()) {
    owners.insert(info.found_by);
    CHECK(names.insert(info.name).second);
    CHECK(parse_fault(info.name) == info.fault);
    CHECK(to_string(info.fault) == info.name);
    CHECK(info.description.size() <= 59);
  }
  for (const Check& check : all_checks()) CHECK(checks.insert(check.name).second);
  CHECK(owners == checks);
}

TEST_CASE("law: a verification runs the checks of the table, each once and in its order") {
  const VerifyReport report = verify_plan(small_plan(2), {});
  REQUIRE(report.checks.size() == all_checks().size());
  for (std::size_t i = 0; i < report.checks.size(); ++i) {
    CHECK(report.checks[i].name == all_checks()[i].name);
    if (i > 0) CHECK(all_checks()[i - 1].stage <= all_checks()[i].stage);
  }
  std::vector<std::string> steps;
  verify_plan(small_plan(2), {}, [&](std::string_view step, int done, int total) {
    CHECK(done == static_cast<int>(steps.size()));
    CHECK(total == static_cast<int>(all_checks().size()));
    steps.emplace_back(step);
  });
  CHECK(steps.size() == all_checks().size());
}

TEST_CASE("fault: traffic that goes wrong is found by the check it was planted for and by no other") {
  const CachePlan plan = small_plan(3);
  for (const Fault fault : {Fault::lost_state, Fault::lost_kv, Fault::stale_block, Fault::lost_merge,
                            Fault::kv_over_state, Fault::state_over_kv, Fault::freed_block, Fault::copy_full_page,
                            Fault::zero_full_page}) {
    CAPTURE(to_string(fault));
    std::set<std::string> expected{std::string(info_of(fault).found_by)};
    // What is not stored stays lost, and the checks that come later see it as well.
    if (fault == Fault::lost_state) expected.insert("states-after-attention");
    if (fault == Fault::lost_kv) {
      expected.insert("kv-after-states");
      for (const AttentionWay& way : attention_ways) expected.emplace(way.check);  // nobody wrote it, so it is a NaN
    }
    CHECK(failing(verify_with(plan, fault)) == expected);
  }
}

TEST_CASE("fault: an order that writer and reader share is wrong in the eyes of the rule alone") {
  const CachePlan plan = small_plan(3);
  for (const Fault fault :
       {Fault::order_exchanged, Fault::pack_reversed, Fault::kv_exchanged, Fault::states_exchanged}) {
    CAPTURE(to_string(fault));
    CHECK(failing(verify_with(plan, fault)) == std::set<std::string>{"physical-order"});
  }
}

TEST_CASE("edge: a verification that stops once a fault is caught stops behind the check that owns it") {
  VerifySpec spec;
  spec.until_caught = true;
  for (const Fault fault : {Fault::stride_order, Fault::lost_state, Fault::copy_full_page}) {
    CAPTURE(to_string(fault));
    spec.fault = fault;
    const VerifyReport report = verify_plan(small_plan(3), spec);
    CHECK(report.caught());
    CHECK(report.checks.back().name == info_of(fault).found_by);
    CHECK(report.checks.back().status == CheckStatus::failed);
  }
  spec.fault.reset();
  CHECK(verify_plan(small_plan(3), spec).checks.size() == all_checks().size());
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
