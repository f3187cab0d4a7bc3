#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cache_plan.h"
#include "simulator/slots/slot_replay.h"
#include "simulator/snapshots/snapshot_settings.h"
#include "simulator/tree/tree_settings.h"
#include "verify/fault/fault.h"
#include "verify/forward/backend_work.h"
#include "verify/forward/forward_fault.h"
#include "verify/forward/forward_network.h"
#include "verify/forward/forward_reference.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

/// A situation in which an engine reuses, moves or gives back cached data. Which of them a release has, see
/// forward_cases_of.
enum class ForwardCase {
  shared_prefix,  ///< a second request begins with blocks of one that still runs
  resume,         ///< a request begins with blocks and a checkpoint of one that is gone
  branch,         ///< prompts part at a point that gets a checkpoint of its own; in a slot, and drop those behind it
  copy_on_write,  ///< a partial block, and the state in its middle, is continued by two requests
  preemption,     ///< a request loses its blocks and is computed again
  drafts,         ///< speculative tokens, some kept and some rejected
  fresh_blocks,   ///< state blocks come with another request's bytes
  recycling,      ///< a pool so small that its blocks are used again and again
  window,         ///< blocks behind a window or chunk go back and are written over at once
  chunks,         ///< a prompt in chunks that end beside the grid of states, which stops the recurrence on the way; in
                  ///< a slot, in steps that stop where checkpoints are made
  copy_on_match,  ///< a state that a tree keeps is copied, and hit again after its copy went on
  tombstone,      ///< a state is evicted and its KV stays: a match goes on from the state before
  eviction,       ///< a leaf goes, its pages and its slot are taken, and a prompt goes on from what is left of its
                  ///< path; of slots, others are cleared and their cells taken
  decode_state,   ///< a prompt goes on from what a request generated, by a state taken while decoding
  exported,       ///< a state that was exported inside a chunk is hit, at the end of a prompt and on its way
  fine_export,    ///< the same of a state inside a block, at a multiple of the match unit
  junction,       ///< prompts of two families part where attention alone matched; both junction states are hit
  lookahead,      ///< keys cover the tokens behind a prefix, which a drafter's rows depend on
  saved_prompts,  ///< what a slot gives up is saved on the host, and comes back into other cells and another slot
  one_past,       ///< prompts part one token before a checkpoint, which then is another prompt's
};

/// All cases in the order of the enumeration.
std::span<const ForwardCase> all_forward_cases();
/// Those of a release: its requests go through block tables, a radix tree, slots or a tree with snapshots.
std::span<const ForwardCase> forward_cases_of(const EngineRules& rules);
/// "shared-prefix", "resume", …
std::string_view to_string(ForwardCase forward_case);

enum class ForwardStatus {
  passed,
  failed,          ///< an output is wrong, as a planted fault should make it, or the case showed nothing
  missed,          ///< a fault was planted, took effect and changed no output
  does_not_apply,  ///< the mode has nothing of the kind, or nowhere to plant the fault; never counts as passed
};

/// What one case showed under one plan.
struct ForwardResult {
  ForwardCase forward_case = ForwardCase::shared_prefix;
  CacheMode mode = CacheMode::none;
  std::optional<TreeStrategy> strategy;   ///< through a radix tree: of its states
  std::int64_t page_tokens = 0;           ///< through a radix tree
  ForwardStatus status = ForwardStatus::passed;
  std::int64_t requests = 0;
  std::int64_t tokens = 0;      ///< whose output was compared, computed again ones included
  std::int64_t hit_tokens = 0;  ///< found in the cache instead of computed
  std::int64_t copies = 0;      ///< pages copied on write, and per layer states moved behind a boundary, to a slot or
                                ///< to and from a checkpoint
  std::int64_t preemptions = 0;
  std::int64_t rejected = 0;    ///< draft tokens
  std::int64_t reused_blocks = 0;  ///< blocks, or large pages, taken beyond the first use of all of the pool
  std::int64_t planted = 0;     ///< times that the planted fault of the engine took effect
  double max_error = 0;         ///< of rows of RMS one, the largest multiple of what is allowed; infinite for NaN
  double tolerance = 0;         ///< allowed there, see ForwardReference
  std::vector<BackendWork> backends;  ///< what each backend of attention did
  std::string message;          ///< why it failed, does not apply or missed

  /// The largest error as a multiple of what is allowed; above 1 an output is wrong.
  double times_allowed() const { return tolerance > 0 ? max_error / tolerance : 0; }
  /// Enters an error and what is allowed for it, where it is nearer to that than all before. `allowed` > 0.
  void note_error(double error, double allowed) {
    if (tolerance != 0 && error / allowed <= times_allowed()) return;
    max_error = error;
    tolerance = allowed;
  }
};

/// All that a case runs on.
struct ForwardSetting {
  const CachePlan& plan;
  const ForwardNetwork& network;
  ForwardReferences& references;
  const std::vector<BoundView>& views;       ///< of the plan, a planted fault may have changed them
  std::span<const AttentionBackend> backends;  ///< of attention, see ForwardEngine
  std::optional<ForwardFault> fault = std::nullopt;
  std::optional<Fault> layout_fault = std::nullopt;  ///< the one in the views, or an operation gone wrong
  std::optional<TreeSettings> tree = std::nullopt;   ///< requests go through a radix tree: settings, and most ids
  std::optional<SlotSettings> slots = std::nullopt;  ///< requests go through slots: settings, and most of each
  std::optional<SnapshotSettings> snapshots = std::nullopt;  ///< the same of a tree with snapshots
};

/// Longest sequence that a case runs, tokens: dense attention over it takes its square.
inline constexpr std::int64_t longest_forward_run = 2048;

/// Runs one case: every output of every request against the dense network's. A case in which its event did not take
/// place (no hit, no copy, no preemption …) has failed, whatever its outputs.
/// Pre: the release has the case; the pools of the plan have at least `forward_pool_blocks`, with a tree as many ids as
/// tree_case_settings wants, with slots as slot_case_settings, with snapshots as snapshot_case_settings; for drafts the
/// plan has speculative tokens.
ForwardResult run_forward_case(ForwardCase forward_case, const ForwardSetting& setting);

/// The result of a case that does not apply, with the reason.
ForwardResult unproven_result(ForwardCase forward_case, const ForwardSetting& setting, std::string reason);

}  // namespace hybridkv
