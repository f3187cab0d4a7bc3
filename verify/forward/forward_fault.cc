#include "verify/forward/forward_fault.h"

#include <array>

namespace hybridkv {

namespace {

constexpr std::array forward_faults{
    ForwardFaultInfo{ForwardFault::skip_zeroing, "skip-zeroing", "a fresh state block keeps what its last user left",
                     "fresh-blocks", "no fresh state block held what another request left",
                     {.blocks = true, .tree = true, .slots = true, .snapshots = true}},
    ForwardFaultInfo{ForwardFault::missed_page_copy, "missed-page-copy",
                     "a shared partial block is continued without a copy of what it held", "copy-on-write",
                     "no shared block is copied", {.blocks = true, .snapshots = true}},
    ForwardFaultInfo{ForwardFault::missed_state_copy, "missed-state-copy",
                     "the running state is not copied into the block behind a boundary", "resume",
                     "no state is copied behind a boundary", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::wrong_accepted, "wrong-accepted", "one rejected draft token counts as accepted",
                     "drafts", "no state depends on the number of accepted drafts", {.blocks = true, .slots = true}},
    ForwardFaultInfo{ForwardFault::wrong_prefix, "wrong-prefix", "two prompts that differ share a prefix key",
                     "shared-prefix", "no request begins with another prompt's blocks", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::no_recompute, "no-recompute",
                     "a preempted request does not compute again what was in the blocks it lost", "preemption",
                     "no request lost blocks", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::early_release, "early-release",
                     "a block goes back while the window still reaches one token into it", "window",
                     "no window or chunk gives back a block", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::shared_state_slot, "shared-state-slot",
                     "a request runs in the state slot of the tree that it hit", "copy-on-match",
                     "no state is hit again after a request went on from it", {.tree = true, .snapshots = true}},
    ForwardFaultInfo{ForwardFault::wrong_tracking_slot, "wrong-tracking-slot",
                     "a state goes to the tracking slot beside the one that is given to the tree", "decode-state",
                     "no state is hit that was taken to a tracking slot", {.tree = true}},
    ForwardFaultInfo{ForwardFault::wrong_state_token, "wrong-state-token",
                     "a state is taken one token before the tokens that it is kept for", "branch",
                     "no state is hit that was taken on the way", {.tree = true, .slots = true, .snapshots = true}},
    ForwardFaultInfo{ForwardFault::stale_rows, "stale-rows",
                     "pages that went back for the tree's own stay in the request's page table", "branch",
                     "no page that went back for the tree's own is taken again by its request",
                     {.tree = true}},
    ForwardFaultInfo{ForwardFault::freed_rows, "freed-rows",
                     "the tree takes over pages of a request that went back for its own", "branch",
                     "no page that went back for the tree's own is taken again before the tree's is hit",
                     {.tree = true}},
    ForwardFaultInfo{ForwardFault::tombstone_slot, "tombstone-slot",
                     "a match goes on from the slot that an evicted state had", "tombstone",
                     "no state is evicted before its KV is matched", {.tree = true}},
    ForwardFaultInfo{ForwardFault::neighbour_state, "neighbour-state",
                     "a match goes on from the state of another node", "branch",
                     "no match has another node's state beside its own", {.tree = true}},
    ForwardFaultInfo{ForwardFault::missed_restore, "missed-restore",
                     "a slot goes on from the state that it has instead of a checkpoint", "resume",
                     "no checkpoint is restored", {.slots = true}},
    ForwardFaultInfo{ForwardFault::older_checkpoint, "older-checkpoint",
                     "the checkpoint before the one that is meant is restored", "resume",
                     "no checkpoint is restored that has another before it", {.slots = true}},
    ForwardFaultInfo{ForwardFault::stale_checkpoint, "stale-checkpoint",
                     "a checkpoint stays that lies behind where prompts part", "branch",
                     "no checkpoint is restored that took the place of another prompt's",
                     {.slots = true, .snapshots = true}},
    ForwardFaultInfo{ForwardFault::foreign_cell, "foreign-cell",
                     "a cell that another slot keeps is taken for a free one", "recycling",
                     "no slot goes on after another one took cells", {.slots = true}},
    ForwardFaultInfo{ForwardFault::restored_stale_checkpoint, "restored-stale-checkpoint",
                     "a checkpoint one token past where a prompt goes on stays, as the server really has it, and is "
                     "restored for another token", "one-past",
                     "no prompt parts from another one a token before a checkpoint", {.slots = true}},
    ForwardFaultInfo{ForwardFault::state_of_another_checkpoint, "state-of-another-checkpoint",
                     "a checkpoint of another sequence, in a slot or on the host, is restored", "saved-prompts",
                     "no checkpoint is restored while another sequence has one", {.slots = true}},
    ForwardFaultInfo{ForwardFault::lost_saved_state, "lost-saved-state",
                     "a saved prompt comes back without its state: its slot goes on from the one that it had",
                     "saved-prompts", "no slot goes on at the end of a saved prompt", {.slots = true}},
    ForwardFaultInfo{ForwardFault::wrong_export_column, "wrong-export-column",
                     "an exported state goes to the running column instead of the one before it", "export",
                     "no chunk exports a state", {.exports = true}},
    ForwardFaultInfo{ForwardFault::late_export, "late-export", "a state is exported one token late", "export",
                     "no chunk exports a state", {.exports = true}},
    ForwardFaultInfo{ForwardFault::foreign_junction, "foreign-junction",
                     "a hit at a junction goes on from the junction state of another prompt", "junction",
                     "no two prompts left a state at their junctions", {.exports = true}},
    ForwardFaultInfo{ForwardFault::short_keys, "short-keys",
                     "prefix keys leave out the tokens that a drafter looks ahead to", "lookahead",
                     "no request begins with another prompt's blocks", {.exports = true}},
    ForwardFaultInfo{ForwardFault::foreign_snapshot, "foreign-snapshot",
                     "a hit goes on from the state of another snapshot", "branch",
                     "no snapshot is hit while the tree has another one", {.snapshots = true}},
    ForwardFaultInfo{ForwardFault::lost_pages, "lost-pages", "a snapshot is hit whose K and V were evicted",
                     "eviction", "no prompt goes on from a snapshot whose K and V were evicted",
                     {.snapshots = true}},
    ForwardFaultInfo{ForwardFault::foreign_source, "foreign-source",
                     "a layer without K and V of its own reads those of another layer than it should", "shared-prefix",
                     "no layer reads the K and V of one of several like it", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::foreign_encoder, "foreign-encoder",
                     "cross attention reads K and V of another request's encoder", "preemption",
                     "no layer attends to an encoder", {.blocks = true}},
    ForwardFaultInfo{ForwardFault::encoder_past_end, "encoder-past-end",
                     "cross attention sees what lies behind the encoder's last vector in its block", "preemption",
                     "no layer attends to an encoder, or its tokens fill their blocks", {.blocks = true}},
};

/// Is it of cross attention, which not all engines with blocks keep anything of?
constexpr bool is_of_encoder(ForwardFault fault) {
  return fault == ForwardFault::foreign_encoder || fault == ForwardFault::encoder_past_end;
}

}  // namespace

std::span<const ForwardFaultInfo> all_forward_faults() { return forward_faults; }

std::vector<ForwardFault> forward_faults_of(const EngineRules& rules) {
  const ForwardPath path = forward_path_of(rules);
  std::vector<ForwardFault> faults;
  for (const ForwardFaultInfo& info : forward_faults)
    if (info.paths.has(path) && (!is_of_encoder(info.fault) || rules.without_encoders.empty()))
      faults.push_back(info.fault);
  return faults;
}

const ForwardFaultInfo& info_of(ForwardFault fault) { return forward_faults[static_cast<std::size_t>(fault)]; }

std::string_view to_string(ForwardFault fault) { return info_of(fault).name; }

std::optional<ForwardFault> parse_forward_fault(std::string_view name) {
  for (const ForwardFaultInfo& info : forward_faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
