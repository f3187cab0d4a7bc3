#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clock/clock_fit.h"
#include "engines/engine.h"

namespace hybridkv {

/// Replicas that generated behind prompts which others computed.
struct DecodeSide {
  MeasuredRun run;                    ///< their machine and their rules; test and figures are the row's
  std::int64_t replicas = 1;
  std::int64_t prompt_replicas = 1;   ///< of the others
  bool is_counted = false;            ///< the table says both numbers, which are taken for 1 where not
};

/// A row of a table of measured runs.
struct MeasuredRow {
  const Engine* engine = nullptr;
  std::string model;
  std::string gpu;
  std::string weights;    ///< format, as the table calls it
  std::string flag;       ///< why to distrust it; empty: clean
  std::string measured;   ///< year-month-day; empty: not recorded
  bool other_harness = false;  ///< its lengths and its number of requests are not recorded
  MeasuredRun run;        ///< where others generate, of those who compute prompts
  std::optional<DecodeSide> decode;

  /// Is it one of those that clocks are fitted to? Runs with drafts, whose acceptance nobody wrote down, with several
  /// ranks of attention and with replicas that generate behind others are none.
  bool is_clean() const {
    return flag.empty() && !other_harness && run.rules.drafts.tokens == 0 && run.rules.ranks == 1 && !decode;
  }
};

/// The chance that a draft is right which rows with drafts are read by where nobody says it. Assumed: DeepSeek-V3's own
/// report (arXiv 2412.19437, 5.4.3) has 85 to 90 % for the first, later ones are right less often.
inline constexpr double usual_acceptance = 0.7;

/// Files of a table of runs.
struct RowFiles {
  std::string rows;                    ///< CSV, a run a line, with the columns of docs/clock.md
  std::string models;                  ///< CSV of what these models compute
  std::optional<std::string> recipes;  ///< CSV of the settings that engines were started with; none: their defaults
  double acceptance = usual_acceptance;  ///< Drafts::acceptance of all rows with drafts
};

/// The runs in the order of the table, of aggregated servers (mode "aggregated") and of replicas that generate behind
/// others ("p/d"); not those of which nobody knows whether or how many drafts they had. Throws InputError with the line
/// of what cannot be read.
std::vector<MeasuredRow> read_measured_rows(const RowFiles& files);

}  // namespace hybridkv
