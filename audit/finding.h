#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// What is wrong with what a request reads, holds, stores or loads.
enum class OwnershipFault {
  other_prefix,          ///< reads what was written for another prefix
  overwritten,           ///< reads what was its own prefix's before another request wrote there
  other_position,        ///< reads what stands for another number of tokens, or for other tokens
  not_written,           ///< reads what nobody wrote since the block was taken
  rejected_draft,        ///< reads what a drafter's token left that was rejected
  other_group,           ///< reads, or loads, what layers of another group wrote
  freed,                 ///< reads a block that it gave back
  no_block,              ///< reads or writes where its table has no block
  other_rank,            ///< loads what another rank stored
  other_dtype,           ///< stores elements of another type than the block has
  object_size,           ///< stores or loads another number of bytes than the block has
  object_unknown,        ///< loads what nobody stored
  changed_while_stored,  ///< a block went to somebody else, or was written again, before its store was through
  hits_disagree,         ///< resumes where not every group found what it needs
  taken_while_held,      ///< a block was given to a request while another one held it
  not_held,              ///< gives back what it does not hold
  region_size,           ///< a registered region is smaller or larger than the blocks that it is to be
};
inline constexpr auto ownership_fault_names = std::to_array<Named<OwnershipFault>>(
    {{OwnershipFault::other_prefix, "other_prefix"},
     {OwnershipFault::overwritten, "overwritten"},
     {OwnershipFault::other_position, "other_position"},
     {OwnershipFault::not_written, "not_written"},
     {OwnershipFault::rejected_draft, "rejected_draft"},
     {OwnershipFault::other_group, "other_group"},
     {OwnershipFault::freed, "freed"},
     {OwnershipFault::no_block, "no_block"},
     {OwnershipFault::other_rank, "other_rank"},
     {OwnershipFault::other_dtype, "other_dtype"},
     {OwnershipFault::object_size, "object_size"},
     {OwnershipFault::object_unknown, "object_unknown"},
     {OwnershipFault::changed_while_stored, "changed_while_stored"},
     {OwnershipFault::hits_disagree, "hits_disagree"},
     {OwnershipFault::taken_while_held, "taken_while_held"},
     {OwnershipFault::not_held, "not_held"},
     {OwnershipFault::region_size, "region_size"}});
constexpr std::string_view to_string(OwnershipFault fault) { return name_in(ownership_fault_names, fault); }

/// One thing that a recording proves to be wrong. Fields that a fault does not have are -1 or empty.
struct OwnershipFinding {
  OwnershipFault fault = OwnershipFault::other_prefix;
  std::int64_t line = 0;         ///< of the recording, from 1
  std::int64_t step = -1;        ///< in which it happens
  std::int64_t request = -1;     ///< to which
  std::int64_t group = -1;
  std::int64_t rank = -1;
  std::int64_t block = -1;
  std::int64_t first_token = -1; ///< of what is read
  std::int64_t end_token = -1;   ///< excluded; a state has both equal: the tokens behind which it stands
  std::int64_t writer = -1;      ///< request that wrote, took or held the block before
  std::int64_t writer_step = -1;
  std::int64_t expected = -1;    ///< bytes, tokens, a group or a rank, by the fault
  std::int64_t found = -1;       ///< in its place
  std::string object;            ///< through which it came or goes
  std::string dtype;             ///< of a stored object of another type
  bool operator==(const OwnershipFinding&) const = default;
};

}  // namespace hybridkv
