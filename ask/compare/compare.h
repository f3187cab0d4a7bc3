#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ask/compare/compare_rules.h"
#include "ask/compare/compare_settings.h"
#include "ask/kernels/kernel_card.h"
#include "planner/kernel_verdict.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// What became of a setting.
struct ComparedSetting {
  std::string name;
  std::string scenario;                                        ///< Scenario::name
  std::vector<std::pair<std::string, std::string>> overrides;  ///< CompareSetting::overrides
  std::string refused;  ///< why it cannot be planned, one line; empty: it is
  std::vector<std::string> start_errors;  ///< what the engine refuses at its start though its planning passes
  std::vector<KernelFit> kernels;         ///< what it does to kernels that were asked about; none where it is refused
};

/// A number or word of every setting.
struct ComparedRow {
  std::string name;   ///< CompareRow::name
  std::string title;  ///< CompareRow::title
  std::string unit;
  std::vector<ComparedValue> values;  ///< (setting) nothing where it is refused, or has no such thing
  bool differs = false;               ///< among those that are planned
  std::vector<ComparedRule> rules;    ///< that make the difference; the first is that of the row
  std::vector<std::string> symbols;   ///< (setting) of the decision that comes to the value; empty: nothing is decided
};

/// Settings side by side at the longest length of each.
struct CompareAnswer {
  std::vector<ComparedSetting> settings;
  std::vector<ComparedRow> rows;  ///< of compare_rows, in their order; of a replay, where there was one

  std::size_t num_refused() const;
};

/// Whether the traces of the settings are replayed too, and what is called as the replays go on.
struct CompareReplay {
  bool wanted = false;
  std::function<void(const SweepProgress&)> on_progress;
};

/// Plans every setting, says where they differ, and by which rule, and holds each against the kernels; rows of replays
/// follow without rules.
/// Throws InputError where all are refused: the refusal where it is one and the same, else all of them.
CompareAnswer compare(const std::vector<CompareSetting>& settings, const CompareReplay& replay = {},
                      const std::vector<KernelCard>& kernels = {});

}  // namespace hybridkv
