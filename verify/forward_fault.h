#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace hybridkv {

/// A way in which an engine that uses a right layout still goes wrong, planted on purpose to show that the forward pass
/// finds it.
enum class ForwardFault {
  skip_zeroing,        ///< a fresh state block keeps what its last user left
  missed_page_copy,    ///< a shared partial block is continued without a copy of what it held
  missed_state_copy,   ///< the running state is not copied into the block behind a boundary
  wrong_accepted,      ///< one rejected draft token counts as accepted
  wrong_prefix,        ///< two prompts that differ share a prefix key
  no_recompute,        ///< a preempted request does not compute again what was in the blocks it lost
  early_release,       ///< a block goes back while the window still reaches one token into it
};

/// A fault with its name on the command line, what it does and the case that finds it.
struct ForwardFaultInfo {
  ForwardFault fault;
  std::string_view name;         ///< "skip-zeroing"
  std::string_view description;  ///< one line
  std::string_view found_by;     ///< name of a ForwardCase
  std::string_view without;      ///< why a case has nowhere to plant it
};

/// All faults in the order of the enumeration.
std::span<const ForwardFaultInfo> all_forward_faults();
const ForwardFaultInfo& info_of(ForwardFault fault);
std::string_view to_string(ForwardFault fault);
std::optional<ForwardFault> parse_forward_fault(std::string_view name);

}  // namespace hybridkv
