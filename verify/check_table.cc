#include "verify/check_table.h"

#include "verify/attention_check.h"
#include "verify/layout/address_audit.h"
#include "verify/layout/block_ops_check.h"
#include "verify/layout/physical_order_check.h"
#include "verify/layout/untouched_check.h"
#include "verify/transfer/stray_copy.h"

namespace hybridkv {

namespace {

CheckResult intervals(CheckRun& run) { return audit_by_intervals(run.traffic.plan, run.traffic.views); }

CheckResult enumeration(CheckRun& run) { return audit_by_enumeration(run.traffic.plan, run.traffic.views); }

CheckResult samples(CheckRun& run) {
  return audit_by_samples(run.traffic.plan, run.traffic.views, run.traffic.assignment, run.traffic.seed);
}

CheckResult alignment(CheckRun& run) { return audit_alignment(run.traffic.plan, run.traffic.views); }

CheckResult physical_order(CheckRun& run) {
  return check_physical_order(run.traffic.plan, run.traffic.views, run.traffic.seed);
}

CheckResult block_tables(CheckRun& run) { return audit_block_tables(run.traffic.plan, run.traffic.assignment); }

CheckResult states_written(CheckRun& run) {
  fill_canaries(run.traffic);
  write_states(run.traffic, 1);
  write_kv(run.traffic);
  return check_states(run.traffic, 1);
}

CheckResult kv_written(CheckRun& run) { return check_kv(run.traffic); }

template <std::size_t way>
CheckResult attention(CheckRun& run) {
  if (!run.attention) run.attention = check_attention(run.traffic);
  return (*run.attention)[way];
}

template <std::size_t way>
constexpr Check attention_check() {
  return {attention_ways[way].check, CheckStage::traffic, false, attention<way>};
}

CheckResult states_after_attention(CheckRun& run) {
  write_kv(run.traffic);
  plant_stray_copy(run.traffic, Fault::kv_over_state);
  return check_states(run.traffic, 1);
}

CheckResult kv_after_states(CheckRun& run) {
  write_states(run.traffic, 2);
  plant_stray_copy(run.traffic, Fault::state_over_kv);
  return check_kv(run.traffic);
}

CheckResult padding(CheckRun& run) { return check_padding(run.traffic); }

CheckResult unheld_blocks(CheckRun& run) {
  plant_stray_copy(run.traffic, Fault::freed_block);
  return check_unheld_blocks(run.traffic);
}

CheckResult zero_one_block(CheckRun& run) { return check_zero_one_block(run.traffic); }

CheckResult copy_one_block(CheckRun& run) { return check_copy_one_block(run.traffic); }

constexpr std::array check_table{
    Check{"address-audit-intervals", CheckStage::addresses, true, intervals},
    Check{"address-audit-enumerated", CheckStage::addresses, true, enumeration},
    Check{"address-audit-sampled", CheckStage::addresses, true, samples},
    Check{"alignment", CheckStage::addresses, true, alignment},
    Check{"physical-order", CheckStage::addresses, false, physical_order},
    Check{"block-tables", CheckStage::addresses, false, block_tables},
    Check{"states-written", CheckStage::traffic, false, states_written},
    Check{"kv-written", CheckStage::traffic, false, kv_written},
    attention_check<0>(),
    attention_check<1>(),
    attention_check<2>(),
    attention_check<3>(),
    Check{"states-after-attention", CheckStage::traffic, false, states_after_attention},
    Check{"kv-after-states", CheckStage::traffic, false, kv_after_states},
    Check{"padding-untouched", CheckStage::traffic, false, padding},
    Check{"null-and-guard-blocks-untouched", CheckStage::traffic, false, unheld_blocks},
    Check{"zero-one-block", CheckStage::operations, false, zero_one_block},
    Check{"copy-one-block", CheckStage::operations, false, copy_one_block},
};

}  // namespace

std::span<const Check> all_checks() { return check_table; }

}  // namespace hybridkv
