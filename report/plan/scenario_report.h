#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/plan.h"
#include "ask/plot/plot_inputs.h"
#include "ask/verify.h"
#include "report/document.h"
#include "report/plan/kernel_text.h"
#include "report/plan/memory_bars.h"

namespace hybridkv {

/// A picture of one plan.
struct PackPicture {
  std::int64_t attention_pack_size = 1;
  Picture picture;
};

/// What another question says of the same scenario.
struct AnsweredPart {
  Document shown;
  Document folded;         ///< what a reader opens when it is wanted; may be empty
  std::string fold_title;
  std::string why_not;     ///< a sentence, where the question has no answer
};

/// What a reader sees first, before any section.
struct FirstScreen {
  Document answer;                   ///< a sentence with the pick and its small table; empty: the best pack and why
  std::optional<FullMemory> memory;  ///< of the pick, its plan with its derivation
  std::vector<Picture> pictures;     ///< of the pick
};

/// All that a report on a scenario tells.
struct ScenarioReportInputs {
  FirstScreen first;
  PlotInputs planned;
  PlanAnswer findings;                     ///< of planned.set
  std::vector<Picture> pictures;           ///< of all packs, in the order to show them
  std::vector<PackPicture> pack_pictures;  ///< of one pack each, in the order to show them
  AnsweredPart recommendation;
  AnsweredPart replay;                     ///< of the scenario's trace
  std::vector<VerifyReport> verified;      ///< empty: not verified
  std::string why_not_verified;            ///< a sentence, where nothing was verified
  std::vector<std::string> commands;       ///< to repeat everything, ready for a shell
  std::string made_by;                     ///< the program with its version
};

/// What the pick and every plan do to kernels that were asked about.
std::vector<NamedFits> judged_layouts(const ScenarioReportInputs& inputs);

/// The report: first the pick with its memory to scale and its pictures; then what to set, the comparison of packs,
/// warnings, kernels that were asked about, what was asked, pictures, the replay of the trace, verification, the best
/// pack in full with its derivation, the other packs folded behind it, and the commands. On paper the folds are left
/// out. Nothing in it depends on the time or the machine. Pre: at least one plan, a capacity in each, the same lengths
/// in all.
Document scenario_report(const ScenarioReportInputs& inputs);

/// Every value that decides the plans, under its key in a scenario; for what was left open, what that means.
Table inputs_table(const PlotInputs& planned);

}  // namespace hybridkv
