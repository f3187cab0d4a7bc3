#include "verify/forward_fault.h"

#include <array>

namespace hybridkv {

namespace {

constexpr std::array forward_faults{
    ForwardFaultInfo{ForwardFault::skip_zeroing, "skip-zeroing", "a fresh state block keeps what its last user left",
                     "fresh-blocks", "no fresh state block held what another request left"},
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
};

}  // namespace

std::span<const ForwardFaultInfo> all_forward_faults() { return forward_faults; }

const ForwardFaultInfo& info_of(ForwardFault fault) { return forward_faults[static_cast<std::size_t>(fault)]; }

std::string_view to_string(ForwardFault fault) { return info_of(fault).name; }

std::optional<ForwardFault> parse_forward_fault(std::string_view name) {
  for (const ForwardFaultInfo& info : forward_faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
