#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/start/doctor.h"
#include "scenarios/read.h"

namespace hybridkv {

/// Where a value stands that no file or flag holds.
inline constexpr const char* from_log = "the log";

ScenarioFile with_settings(ScenarioFile file, const std::vector<Assignment>& settings);

/// Settings in place of those that explain a log.
struct SettingChange {
  std::vector<Assignment> settings;  ///< those that change
  std::string what, gives_up;
};

/// Changes that may hold more requests.
std::vector<SettingChange> changes_for_room(const Explanation& explained);
/// Changes that may find more prefixes again.
std::vector<SettingChange> changes_for_hits(const Explanation& explained);

/// The deployment of a log with a change of its settings, in the memory that its blocks take. Pre: number of blocks and
/// length are known.
ScenarioFile changed_file(const ScenarioFile& file, const Explanation& explained, const SettingChange& change);

/// The command, "plan" or "simulate" with the words of its trace, that answers for the same.
std::string changed_command(const DoctorQuestion& question, const Explanation& explained, const SettingChange& change,
                            const std::string& command, const std::string& words);

/// The command that searches all settings of the engine for the requests, in the same memory: what is no choice of the
/// cache stays.
std::string search_command(const DoctorQuestion& question, const Explanation& explained);

/// Those of the changes that can be planned, as what they hold.
std::vector<BetterSetting> planned_changes(const DoctorQuestion& question, const ScenarioFile& file,
                                           const Explanation& explained, const std::vector<SettingChange>& changes);

/// Settings that hold more requests in the same memory, those that hold most first.
std::vector<BetterSetting> better_settings(const DoctorQuestion& question, const ScenarioFile& file,
                                           const Explanation& explained);

/// Settings whose prefixes are found again at more places.
std::vector<BetterSetting> hit_settings(const DoctorQuestion& question, const ScenarioFile& file,
                                        const Explanation& explained);

}  // namespace hybridkv
