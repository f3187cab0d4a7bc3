#include "ask/start/doctor_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/asked_key.h"
#include "ask/plan.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate_request.h"
#include "ask/start/doctor_change.h"
#include "base/error.h"

namespace hybridkv {

namespace {

/// A setting to replay.
struct ReplaySetting {
  ReplayedSetting setting;
  AnyCache cache;
};

/// What is replayed under a change; nothing where it cannot be planned for this model.
std::optional<ReplaySetting> replay_setting_of(const DoctorQuestion& question, const ScenarioFile& file,
                                               const Explanation& explained, const SettingChange& change) {
  try {
    const Scenario scenario = read_scenario(changed_file(file, explained, change));
    const CachePlan plan = plan_pack(scenario, 0, PlanDetail::numbers);
    ReplaySetting one{{}, cache_of(plan, scenario)};
    one.setting.what = change.what;
    one.setting.gives_up = change.gives_up;
    one.setting.command = changed_command(question, explained, change, "simulate", question.trace_words);
    one.setting.concurrency = plan.capacity.front().max_concurrency;
    return one;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void require_size(const DoctorQuestion& question, const Explanation& explained) {
  if (!explained.num_blocks && !explained.is_sized_by_settings)
    throw InputError(fmt::format("{}: --trace replays requests through the cache of the log, and none of its figures "
                                 "says how large that is; leave --trace out, or give the log from its first line on",
                                 question.log_name));
  if (question.log.is_of_pools() && !explained.is_sized_by_settings)
    throw InputError(fmt::format("{}: --trace replays requests through the cache of the log, which says how many "
                                 "blocks of tokens it has and not how many states; hybridkv simulate --memory SIZE "
                                 "plans both", question.log_name));
  if (explained.length == 0)
    throw InputError(fmt::format("{}: --trace replays requests, and the log does not say the longest; pass "
                                 "--max-model-len TOKENS", question.log_name));
}

}  // namespace

bool has_trace(const DoctorQuestion& question) { return is_asked(question.asked, "simulate", "trace"); }

LogReplay replay_log(const DoctorQuestion& question, const ScenarioFile& file, const Explanation& explained) {
  require_size(question, explained);
  const SettingChange as_found{{}, "as found", {}};
  const Scenario scenario = read_scenario(changed_file(file, explained, as_found));
  std::vector<SettingChange> changes{as_found};
  std::vector<std::vector<SettingChange>> others;
  // Pools that settings size stay as large whatever else is set: what shares the memory anew is searched, not tried.
  if (!explained.is_sized_by_settings) others = {changes_for_hits(explained), changes_for_room(explained)};
  for (std::vector<SettingChange>& some : others)
    for (SettingChange& change : some)
      if (std::none_of(changes.begin(), changes.end(),
                       [&](const SettingChange& other) { return other.what == change.what; }))
        changes.push_back(std::move(change));
  SimulateQuestion asked{scenario.simulate, {}};
  asked.request.losses = true;
  LogReplay replay;
  for (const SettingChange& change : changes) {
    std::optional<ReplaySetting> one = replay_setting_of(question, file, explained, change);
    if (!one || (!asked.caches.empty() && one->cache.index() != asked.caches.front().index())) continue;
    asked.caches.push_back(std::move(one->cache));
    replay.settings.push_back(std::move(one->setting));
  }
  try {
    SimulateAnswer answer = simulate(asked, {.on_progress = question.on_progress});
    replay.trace = answer.trace;
    replay.driver = answer.driver;
    replay.requests = answer.requests;
    replay.prompt_tokens = answer.prompt_tokens;
    for (std::size_t i = 0; i < answer.caches.size(); ++i) replay.settings[i].cache = std::move(answer.caches[i]);
  } catch (const SpecError& error) {
    throw located(scenario_error(error), scenario);
  }
  replay.search_command = search_command(question, explained);
  std::stable_sort(replay.settings.begin() + 1, replay.settings.end(),
                   [](const ReplayedSetting& a, const ReplayedSetting& b) {
                     return a.cache.counts().hit_tokens > b.cache.counts().hit_tokens;
                   });
  return replay;
}

}  // namespace hybridkv
