#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "verify/forward/forward_path.h"

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
  shared_state_slot,   ///< a request runs in the state slot of the tree that it hit
  wrong_tracking_slot, ///< a state goes to the tracking slot beside the one that is given to the tree
  wrong_state_token,   ///< a state is taken one token before the tokens that the tree keeps it for
  stale_rows,          ///< pages that went back for the tree's own stay in the request's page table
  freed_rows,          ///< the tree takes over pages of a request that went back for its own
  tombstone_slot,      ///< a match goes on from the slot that an evicted state had
  neighbour_state,     ///< a match goes on from the state of another node
  missed_restore,      ///< a slot goes on from the state that it has instead of a checkpoint
  older_checkpoint,    ///< the checkpoint before the one that is meant is restored
  stale_checkpoint,    ///< a checkpoint stays that lies behind where prompts part
  foreign_cell,        ///< a cell that another slot keeps is taken for a free one
  restored_stale_checkpoint,   ///< a checkpoint one token past stays and is restored for another token
  state_of_another_checkpoint, ///< a checkpoint of another sequence is restored
  lost_saved_state,    ///< a saved prompt comes back without its state
  wrong_export_column, ///< an exported state goes to the running column instead of the one before it
  late_export,         ///< a state is exported one token late
  foreign_junction,    ///< a hit at a junction goes on from the junction state of another prompt
  short_keys,          ///< prefix keys leave out the tokens that a drafter looks ahead to
  foreign_snapshot,    ///< a hit goes on from the state of another snapshot
  lost_pages,          ///< a snapshot is hit whose K and V were evicted
  foreign_source,      ///< a layer that shares K and V reads another layer than it should
  foreign_encoder,     ///< cross attention follows the table of another request
  encoder_past_end,    ///< cross attention sees what lies behind the encoder's last vector in its block
};

/// A fault with its name on the command line, what it does and the case that finds it.
struct ForwardFaultInfo {
  ForwardFault fault;
  std::string_view name;         ///< "skip-zeroing"
  std::string_view description;  ///< one line
  std::string_view found_by;     ///< name of a ForwardCase
  std::string_view without;      ///< why a case has nowhere to plant it
  ForwardPaths paths;            ///< where it has a place
};

/// All faults in the order of the enumeration.
std::span<const ForwardFaultInfo> all_forward_faults();
/// Those that a release has a place for.
std::vector<ForwardFault> forward_faults_of(const EngineRules& rules);
const ForwardFaultInfo& info_of(ForwardFault fault);
std::string_view to_string(ForwardFault fault);
std::optional<ForwardFault> parse_forward_fault(std::string_view name);

}  // namespace hybridkv
