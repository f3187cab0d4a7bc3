#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ask/transfer/transfer.h"
#include "ask/verdict.h"
#include "verify/transfer/transfer_proof.h"

namespace hybridkv {

/// What is planted into the proof of a transfer, one after the other.
struct TransferProofQuestion {
  std::vector<std::optional<TransferFault>> faults{std::nullopt};  ///< at least one, or nothing
  Planted planted = Planted::no_or_single;  ///< catalogue: a fault may have no place between the sides
};

/// What the proofs showed.
struct TransferProofAnswer {
  std::vector<TransferProof> proofs;  ///< in the order of the faults
  Verdict verdict = Verdict::passed;
};

/// Called as proofs go on: the fault, the step that begins, and how many of how many are done.
using TransferProofAnswerProgress =
    std::function<void(const std::optional<TransferFault>& fault, std::string_view step, int done, int total)>;

/// Moves the request of a transfer between real pools, once for every fault; seed and memory as the verify section of
/// `scenario`, that of the source, says. Throws as prove_transfer, and InputError where a fault that was asked for by
/// name has no place between the sides.
TransferProofAnswer prove(const TransferAnswer& transfer, const Scenario& scenario,
                          const TransferProofQuestion& question, const TransferProofAnswerProgress& progress = {});

}  // namespace hybridkv
