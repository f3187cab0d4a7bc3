#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/transfer_map.h"
#include "verify/check_result.h"
#include "verify/transfer/transfer_fault.h"

namespace hybridkv {

/// What the proof of a transfer should do.
struct TransferProofSpec {
  std::uint64_t seed = 1;                             ///< of contents, weights and queries
  std::optional<std::int64_t> resident_budget_bytes;  ///< default: half of the free memory
  std::int64_t continued_tokens = 4;  ///< that recurrent layers compute from the moved state; attention always one;
                                      ///< 0: nothing goes on
  std::int64_t continued_layers = 0;  ///< the first so many of each kind go on; 0: all
  std::optional<TransferFault> fault; ///< planted on purpose
  bool until_caught = false;          ///< no more is looked at than the check that owns the fault, where it was planted
  bool operator==(const TransferProofSpec&) const = default;
};

/// What the proof of a transfer found.
struct TransferProof {
  std::optional<TransferFault> fault;    ///< the one planted
  std::string planted;                   ///< where: "rank 0 to rank 3, layer 4 conv, step 1"; empty: nowhere
  std::string no_place;                  ///< why these sides have no place for it; then nothing ran
  std::vector<CheckResult> checks;       ///< in the order of transfer_checks()
  std::int64_t descriptors = 0;          ///< of all pairs of ranks
  std::int64_t moved_bytes = 0;          ///< read at the sources
  std::int64_t written_bytes = 0;        ///< at the destinations
  std::string continued;                 ///< what went on: "4 tokens in 45 gdn layers, 1 token in 15 full_attention …"
  std::int64_t reserved_bytes = 0;       ///< address space of the pools of all ranks of both sides
  std::int64_t resident_bytes = 0;       ///< of the pools, the most at any one time
  std::int64_t peak_process_bytes = 0;   ///< largest resident size the process has had
  double list_seconds = 0;               ///< to make the list of copies
  double copy_seconds = 0;               ///< to run it
  double seconds = 0;                    ///< altogether

  /// Nothing was planted, every check ran and found nothing, or has nothing to look at.
  bool passed() const;
  /// A fault was planted, and the check that owns it found one.
  bool caught() const;
  /// The first check that found a fault, or nullptr.
  const CheckResult* first_failure() const;
};

/// One check of the proof.
struct TransferCheckInfo {
  std::string_view name;         ///< stable
  std::string_view description;  ///< what it looks at, one line
};

/// All checks in the order in which a proof lists them:
///   descriptors          every descriptor lies in its pools, and together they write as many bytes as are live
///   kv-moved             every K and V at the destination, of every rank that keeps it, bit for bit; where elements
///                        are converted the rounded one, with the largest error
///   states-moved         the same of states
///   untouched            no other byte of the destination's pools changed
///   states-continued     recurrent layers that go on at the destination give what they give at the source
///   attention-continued  a decoded token's attention at the destination is that at the source
std::span<const TransferCheckInfo> transfer_checks();

/// Called as the proof goes on: the step that begins, and how many of how many are done.
using TransferProofProgress = std::function<void(std::string_view step, int done, int total)>;

/// Moves a request between real pools of both sides' full sizes and compares every element with what belongs there.
///
/// The source is filled through its views with values that are a function of an element's place in the model alone
/// (layer, tensor, token, head, channel), pages and their padding with canaries; the list of copies is run as it
/// stands; the destination is read through its own views. Which rank keeps which head or channel follows from rules of
/// its own here, not from TransferMap's. Pools are made rank by rank, so that few ranks are resident together; the
/// result does not depend on how many, nor on the number of threads.
///
/// Throws ResourceError before any allocation where a pair of ranks exceeds the resident budget, InputError as
/// require_views; a fault without a place is no error but TransferProof::no_place.
/// Pre: check_tables accepts the tables of the request.
TransferProof prove_transfer(const TransferMap& map, const TransferRequest& request, const TransferProofSpec& spec,
                             const TransferProofProgress& progress = {});

}  // namespace hybridkv
