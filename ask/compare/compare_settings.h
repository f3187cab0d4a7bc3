#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/read.h"
#include "scenarios/scenario.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

/// How many settings one table holds.
inline constexpr std::size_t fewest_settings = 2;
inline constexpr std::size_t most_settings = 8;

/// One of the settings that are compared.
struct CompareSetting {
  std::string name;  ///< unlike the others': of the scenario, its varied values, or both
  std::vector<std::pair<std::string, std::string>> overrides;  ///< key and value of what varies, "" for the default
  Scenario scenario;                                           ///< of one pack size
};

/// The settings that scenarios stand for: of each file one for every combination of the values of its lists and ranges,
/// the first list slowest. Several lengths are one question unless `varied` names limits.max_model_len: settings are
/// compared at the longest. Values of zipped keys go together (axis_steps).
/// Throws InputError for anything wrong in a file, and where there are fewer than `fewest` or more than
/// most_settings.
std::vector<CompareSetting> compare_settings(const std::vector<ScenarioFile>& files,
                                             const std::vector<std::string>& varied = {},
                                             std::size_t fewest = fewest_settings,
                                             const std::vector<ZippedKeys>& zips = {});

}  // namespace hybridkv
