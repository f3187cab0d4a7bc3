#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace hybridkv {

/// A way in which the move of a cache goes wrong; planted on purpose to show that its check finds it.
enum class TransferFault {
  descriptor_short,     ///< a run of K and V ends some bytes early
  descriptor_missing,   ///< a run of a state is never copied
  descriptor_twice,     ///< a run is copied twice
  heads_swapped,        ///< two KV heads of a layer change places
  state_heads_swapped,  ///< two heads of a recurrent state change places
  wrong_replica,        ///< a KV head that several ranks keep, from a rank that keeps another
  wrong_group,          ///< a replicated group of B and C, from a rank that keeps another
  sections_flat,        ///< a convolution state split as one row of channels, not by the sections of it
  stale_state,          ///< a recurrent state from the id that held an older one
  stale_steps,          ///< the steps of a convolution state taken one earlier
  wrong_dtype,          ///< bytes of a state as they are where elements are converted, or elements of half their size
  shifted_destination,  ///< a run written some bytes further on
  overlong_write,       ///< a run written with up to 64 bytes behind its end
  stale_block,          ///< attention goes on with an entry of the destination's block table taken away
  stale_entry,          ///< a recurrent layer goes on from another id than the one that was written
};

/// A fault with its name on the command line, what it does, and the check that owns it.
struct TransferFaultInfo {
  TransferFault fault;
  std::string_view name;         ///< "one-descriptor-short"
  std::string_view description;  ///< one line of at most 59 characters
  std::string_view found_by;     ///< name of a check of transfer_proof.h; others may find it too
};

/// All faults in the order of the enumeration.
std::span<const TransferFaultInfo> all_transfer_faults();
const TransferFaultInfo& info_of(TransferFault fault);
std::string_view to_string(TransferFault fault);
std::optional<TransferFault> parse_transfer_fault(std::string_view name);

}  // namespace hybridkv
