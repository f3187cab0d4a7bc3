#include "verify/transfer/transfer_fault.h"

#include <algorithm>
#include <array>

namespace hybridkv {

namespace {

constexpr std::array transfer_faults{
    TransferFaultInfo{TransferFault::descriptor_short, "one-descriptor-short", "a run of K and V ends some bytes early",
                      "kv-moved"},
    TransferFaultInfo{TransferFault::descriptor_missing, "missing-descriptor", "a run of a state is never copied",
                      "states-moved"},
    TransferFaultInfo{TransferFault::descriptor_twice, "descriptor-twice", "a run is copied twice", "descriptors"},
    TransferFaultInfo{TransferFault::heads_swapped, "heads-swapped", "two KV heads of a layer change places",
                      "kv-moved"},
    TransferFaultInfo{TransferFault::state_heads_swapped, "state-heads-swapped",
                      "two heads of a recurrent state change places", "states-moved"},
    TransferFaultInfo{TransferFault::wrong_replica, "wrong-replica",
                      "a KV head of several ranks, from one that keeps another", "kv-moved"},
    TransferFaultInfo{TransferFault::wrong_group, "wrong-group",
                      "a group of B and C, from a rank that keeps another", "states-moved"},
    TransferFaultInfo{TransferFault::sections_flat, "sections-flat",
                      "a convolution state split flat, not by its sections", "states-moved"},
    TransferFaultInfo{TransferFault::stale_state, "stale-state", "a state from the id that held an older one",
                      "states-moved"},
    TransferFaultInfo{TransferFault::stale_steps, "stale-steps", "the steps of a convolution state taken one earlier",
                      "states-moved"},
    TransferFaultInfo{TransferFault::wrong_dtype, "wrong-dtype", "a state's elements taken for those of another type",
                      "states-moved"},
    TransferFaultInfo{TransferFault::shifted_destination, "shifted-destination", "a run written some bytes further on",
                      "untouched"},
    TransferFaultInfo{TransferFault::overlong_write, "overlong-write",
                      "a run written with up to 64 bytes behind its end", "untouched"},
    TransferFaultInfo{TransferFault::stale_block, "stale-block", "attention goes on with another id in its block table",
                      "attention-continued"},
    TransferFaultInfo{TransferFault::stale_entry, "stale-entry", "a recurrent layer goes on from an id not written",
                      "states-continued"},
};

}  // namespace

std::span<const TransferFaultInfo> all_transfer_faults() { return transfer_faults; }

const TransferFaultInfo& info_of(TransferFault fault) {
  return *std::find_if(transfer_faults.begin(), transfer_faults.end(),
                       [&](const TransferFaultInfo& info) { return info.fault == fault; });
}

std::string_view to_string(TransferFault fault) { return info_of(fault).name; }

std::optional<TransferFault> parse_transfer_fault(std::string_view name) {
  for (const TransferFaultInfo& info : transfer_faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
