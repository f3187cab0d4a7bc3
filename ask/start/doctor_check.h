#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ask/start/doctor.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// What settings make of a log's figures.
struct SettingsCheck {
  std::vector<FigureCheck> figures;        ///< those of the log, in the order of log_figures
  std::optional<std::int64_t> num_blocks;  ///< that explains most of the figures that depend on it; nothing where none
  std::size_t explained = 0;               ///< how many of the figures
  /// Other sets of figures that as many blocks explain as well: which of them is wrong the log does not say.
  std::vector<std::vector<FigureCheck>> rivals;
};

/// Compares the figures of a log with a plan of these settings; `length`: max_model_len, 0 where the log does not
/// say it. The number of blocks, which most engines do not print, is the one that explains most of the figures that
/// follow from it, printed as engines round. Nothing where the settings cannot be planned.
std::optional<SettingsCheck> check_settings(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine,
                                            std::int64_t length);

}  // namespace hybridkv
