#pragma once

#include <string>

#include "planner/cache_plan.h"
#include "simulator/slots/slot_replay.h"
#include "verify/forward/forward_case.h"

namespace hybridkv {

/// Slots and cells that no case needs more of.
inline constexpr std::int64_t most_forward_slots = 3;
inline constexpr std::int64_t most_forward_cells = 256;

/// The memory in which a plan has rows for all its sequences and `most_forward_cells` cells. Pre: it has rows.
std::int64_t slot_case_memory_bytes(const CachePlan& plan);

/// The server of a plan as the cases run it, with at most its slots and cells: steps of 16 tokens, so that prompts stay
/// short; checkpoints where the plan has any, as many as a case needs; prompts saved where it saves any, in the case of
/// these. Pre: the plan is of `slot_case_memory_bytes`.
SlotSettings slot_case_settings(const CachePlan& plan);

/// Why the case has nothing to show with these settings; empty where it has.
std::string reason_not_to_run(ForwardCase forward_case, const SlotSettings& settings);

/// Runs a case of requests that go through the slots of a server.
/// Pre: `setting.slots`, one of forward_cases_of its release, no reason_not_to_run; for drafts rows of drafts.
void run_slot_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result);

}  // namespace hybridkv
