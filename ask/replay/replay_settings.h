#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ask/compare/compare_settings.h"
#include "ask/replay/bound_order.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// The figures of a replay that are shown beside its bounds.
ReplayedFigures figures_of(const ReplayedIndex& replayed);

/// Replays the trace of a scenario, section simulate, through the cache that it plans at its longest length, and token
/// by token. Throws SpecError and InputError as `simulate` does.
ReplayedIndex replay_setting(const Scenario& scenario,
                             const std::function<void(const SweepProgress&)>& on_progress = {});

/// Replays the trace of each setting, section simulate, through the cache that it plans; nothing where `planned` is
/// false. Throws InputError as `simulate` does.
std::vector<std::optional<ReplayedIndex>> replay_settings(
    const std::vector<CompareSetting>& settings, const std::vector<bool>& planned,
    const std::function<void(const SweepProgress&)>& on_progress = {});

}  // namespace hybridkv
