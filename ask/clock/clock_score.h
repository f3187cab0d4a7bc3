#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ask/clock/measured_rows.h"
#include "clock/clock_file.h"

namespace hybridkv {

/// How well clocks predict the runs of a table.
struct ClockScore {
  std::string name;    ///< of the engine; "all" of all together; of runs that no clock is fitted to what they have
  ClockError blind;    ///< by the engine's coefficients
  ClockError own;      ///< with two short runs of each deployment, on the others of it
  bool operator==(const ClockScore&) const = default;
};

/// Scores of the clean rows, by engine and together; then, where the table has any, of those to which no clock is
/// fitted: with drafts, with attention data parallel, and (blind only) of replicas that generate behind others where
/// the table says how many of either. Two runs of a deployment are its shortest and its longest prompts at the least
/// concurrency; deployments with fewer than four rows have none. Empty where no row counts.
std::vector<ClockScore> score_clocks(const std::vector<MeasuredRow>& rows);

/// Scores of the clean rows by clocks of their engines that are fitted to the others: with each model left out in turn,
/// and with each GPU. Empty where no engine has two of either.
std::vector<ClockScore> score_unseen(const std::vector<MeasuredRow>& rows);

/// Clocks fitted anew to the rows of each engine, with their error on its models when the fit has not seen the model.
std::vector<ClockFile> fit_clocks(const std::vector<MeasuredRow>& rows);

}  // namespace hybridkv
