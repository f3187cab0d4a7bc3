#pragma once

#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "verify/forward/forward_case.h"

namespace hybridkv {

/// Ids that no case needs more of, with pages of so many tokens.
std::int64_t most_forward_tree_tokens(std::int64_t page_tokens);
inline constexpr std::int64_t most_forward_tree_states = 32;

/// The tree of a plan as the cases run through it, in pools of at most its ids: its pages, strategy and locks, but a
/// small grid of states, so that prompts stay short: the scan has chunks of 16 tokens, the decode keeps a state at
/// every second multiple of the grid. Pre: the plan has tree pools of `most_forward_tree_tokens` and
/// `most_forward_tree_states`.
TreeSettings tree_case_settings(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);

/// Why no case runs with these pages; empty where all do.
std::string reason_not_to_run(const TreeSettings& settings);

/// Runs a case of requests that go through a radix tree, in the smallest pools in which its event takes place.
/// Pre: `setting.tree`, one of forward_cases_of its release, no reason_not_to_run.
void run_tree_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result);

}  // namespace hybridkv
