#include "verify/forward_fault.h"

#include <array>

namespace hybridkv {

namespace {

constexpr std::array faults{
    ForwardFaultInfo{ForwardFault::skip_zeroing, "skip-zeroing", "a fresh state block keeps what its last user left",
                     "fresh-blocks"},
    ForwardFaultInfo{ForwardFault::missed_page_copy, "missed-page-copy",
                     "a shared partial block is continued without a copy of what it held", "copy-on-write"},
    ForwardFaultInfo{ForwardFault::missed_state_copy, "missed-state-copy",
                     "the running state is not copied into the block behind a boundary", "resume"},
    ForwardFaultInfo{ForwardFault::wrong_accepted, "wrong-accepted", "one rejected draft token counts as accepted",
                     "drafts"},
    ForwardFaultInfo{ForwardFault::wrong_prefix, "wrong-prefix", "two prompts that differ share a prefix key",
                     "shared-prefix"},
    ForwardFaultInfo{ForwardFault::no_recompute, "no-recompute",
                     "a preempted request does not compute again what was in the blocks it lost", "preemption"},
};

}  // namespace

std::span<const ForwardFaultInfo> all_forward_faults() { return faults; }

std::string_view to_string(ForwardFault fault) { return faults[static_cast<std::size_t>(fault)].name; }

std::optional<ForwardFault> parse_forward_fault(std::string_view name) {
  for (const ForwardFaultInfo& info : faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
