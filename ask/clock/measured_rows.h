#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clock/clock_fit.h"
#include "engines/engine.h"

namespace hybridkv {

/// A row of a table of measured runs.
struct MeasuredRow {
  const Engine* engine = nullptr;
  std::string model;
  std::string gpu;
  std::string weights;    ///< format, as the table calls it
  std::string flag;       ///< why to distrust it; empty: clean
  bool other_harness = false;  ///< its lengths and its number of requests are not recorded
  MeasuredRun run;
};

/// Files of a table of runs.
struct RowFiles {
  std::string rows;                    ///< CSV, a run a line, with the columns of docs/clock.md
  std::string models;                  ///< CSV of what these models compute
  std::optional<std::string> recipes;  ///< CSV of the settings that engines were started with; none: their defaults
};

/// The runs of aggregated servers without drafts and with one rank of attention data parallel, in the order of the
/// table: what a clock covers. Throws InputError with the line of what cannot be read.
std::vector<MeasuredRow> read_measured_rows(const RowFiles& files);

}  // namespace hybridkv
