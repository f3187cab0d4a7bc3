#include "ask/transfer/transfer_proof.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

TransferProofAnswer prove(const TransferAnswer& transfer, const Scenario& scenario,
                          const TransferProofQuestion& question, const TransferProofAnswerProgress& progress) {
  TransferProofSpec spec{.seed = scenario.verify.seed,
                         .resident_budget_bytes = scenario.verify.resident_budget_bytes,
                         .until_caught = question.planted == Planted::catalogue};
  TransferProofAnswer answer;
  for (const std::optional<TransferFault>& fault : question.faults) {
    spec.fault = fault;
    const TransferProof& proof = answer.proofs.emplace_back(
        prove_transfer(*transfer.map, transfer.request, spec, [&](std::string_view step, int done, int total) {
          if (progress) progress(fault, step, done, total);
        }));
    if (!proof.no_place.empty() && question.planted != Planted::catalogue)
      throw InputError(fmt::format("the fault {} has no place here: {}", to_string(*fault), proof.no_place));
  }
  answer.verdict = verdict_of(answer.proofs, question.planted);
  return answer;
}

}  // namespace hybridkv
