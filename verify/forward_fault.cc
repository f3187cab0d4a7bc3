#include "verify/forward_fault.h"

#include <array>

namespace hybridkv {

namespace {

constexpr std::array forward_faults{
    ForwardFaultInfo{ForwardFault::skip_zeroing, "skip-zeroing", "a fresh state block keeps what its last user left",
                     "fresh-blocks", "no fresh state block held what another request left", ForwardFaultPlace::both},
    ForwardFaultInfo{ForwardFault::missed_page_copy, "missed-page-copy",
                     "a shared partial block is continued without a copy of what it held", "copy-on-write",
                     "no shared block is copied"},
    ForwardFaultInfo{ForwardFault::missed_state_copy, "missed-state-copy",
                     "the running state is not copied into the block behind a boundary", "resume",
                     "no state is copied behind a boundary"},
    ForwardFaultInfo{ForwardFault::wrong_accepted, "wrong-accepted", "one rejected draft token counts as accepted",
                     "drafts", "no state depends on the number of accepted drafts"},
    ForwardFaultInfo{ForwardFault::wrong_prefix, "wrong-prefix", "two prompts that differ share a prefix key",
                     "shared-prefix", "no request begins with another prompt's blocks"},
    ForwardFaultInfo{ForwardFault::no_recompute, "no-recompute",
                     "a preempted request does not compute again what was in the blocks it lost", "preemption",
                     "no request lost blocks"},
    ForwardFaultInfo{ForwardFault::early_release, "early-release",
                     "a block goes back while the window still reaches one token into it", "window",
                     "no window or chunk gives back a block"},
    ForwardFaultInfo{ForwardFault::shared_state_slot, "shared-state-slot",
                     "a request runs in the state slot of the tree that it hit", "copy-on-match",
                     "no state is hit again after a request went on from it", ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::wrong_tracking_slot, "wrong-tracking-slot",
                     "a state goes to the tracking slot beside the one that is given to the tree", "decode-state",
                     "no state is hit that was taken to a tracking slot", ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::wrong_state_token, "wrong-state-token",
                     "a state is taken one token before the tokens that the tree keeps it for", "branch",
                     "no state is hit that was taken on the way", ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::stale_rows, "stale-rows",
                     "pages that went back for the tree's own stay in the request's page table", "branch",
                     "no page that went back for the tree's own is taken again by its request",
                     ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::freed_rows, "freed-rows",
                     "the tree takes over pages of a request that went back for its own", "branch",
                     "no page that went back for the tree's own is taken again before the tree's is hit",
                     ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::tombstone_slot, "tombstone-slot",
                     "a match goes on from the slot that an evicted state had", "tombstone",
                     "no state is evicted before its KV is matched", ForwardFaultPlace::tree},
    ForwardFaultInfo{ForwardFault::neighbour_state, "neighbour-state",
                     "a match goes on from the state of another node", "branch",
                     "no match has another node's state beside its own", ForwardFaultPlace::tree},
};

}  // namespace

std::span<const ForwardFaultInfo> all_forward_faults() { return forward_faults; }

std::vector<ForwardFault> forward_faults_of(Release release) {
  const ForwardFaultPlace place =
      rules_of(release).radix_pools ? ForwardFaultPlace::tree : ForwardFaultPlace::blocks;
  std::vector<ForwardFault> faults;
  for (const ForwardFaultInfo& info : forward_faults)
    if (info.place == place || info.place == ForwardFaultPlace::both) faults.push_back(info.fault);
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
