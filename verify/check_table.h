#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "verify/check_result.h"
#include "verify/transfer/traffic.h"

namespace hybridkv {

/// What one verification has at hand when a check runs.
struct CheckRun {
  const Traffic& traffic;
  std::optional<std::vector<CheckResult>> attention{};  ///< of all attention_ways, from one run over the layers
};

/// What a check needs before it runs, in the order in which the checks run.
enum class CheckStage {
  addresses,   ///< the plan and its views; touches no memory
  traffic,     ///< pools that hold states, K and V
  operations,  ///< pools whose traffic it may overwrite
};

/// One check of `verify`.
struct Check {
  std::string_view name;  ///< stable: "address-audit-intervals", "attention-full", …
  CheckStage stage;
  bool guards_memory;     ///< where it fails, the stages that touch memory do not run
  CheckResult (*run)(CheckRun&);
};

/// All checks in the order in which they run, by stage. What is run, listed and counted is this table.
std::span<const Check> all_checks();

}  // namespace hybridkv
