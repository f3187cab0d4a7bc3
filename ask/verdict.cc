#include "ask/verdict.h"

#include <algorithm>

#include "verify/forward/forward.h"
#include "verify/transfer/transfer_proof.h"
#include "verify/verify.h"

namespace hybridkv {

namespace {

/// Has the fault no place, so that there was nothing to catch?
bool has_no_place(const VerifyReport& report) { return !report.no_place.empty(); }
bool has_no_place(const ForwardReport& report) { return !report.applies(); }
bool has_no_place(const TransferProof& proof) { return !proof.no_place.empty(); }

/// Did no check find a fault where not all of them could run?
bool is_unproven(const VerifyReport& report) { return report.first_unproven() != nullptr; }
bool is_unproven(const ForwardReport& report) { return report.first_failure() == nullptr; }
bool is_unproven(const TransferProof& proof) { return !proof.fault && proof.first_failure() == nullptr; }

template <class Report>
Verdict verdict_of_one(const Report& report, Planted planted) {
  if (planted == Planted::catalogue)
    return report.caught() || has_no_place(report) ? Verdict::passed : Verdict::fault;
  if (report.passed()) return Verdict::passed;
  return is_unproven(report) ? Verdict::not_proven : Verdict::fault;
}

template <class Report>
Verdict worst_of(std::span<const Report> reports, Planted planted) {
  Verdict worst = Verdict::passed;
  for (const Report& report : reports) worst = std::max(worst, verdict_of_one(report, planted));
  return worst;
}

}  // namespace

Verdict verdict_of(std::span<const VerifyReport> reports, Planted planted) { return worst_of(reports, planted); }

Verdict verdict_of(std::span<const ForwardReport> reports, Planted planted) { return worst_of(reports, planted); }

Verdict verdict_of(std::span<const TransferProof> proofs, Planted planted) { return worst_of(proofs, planted); }

}  // namespace hybridkv
