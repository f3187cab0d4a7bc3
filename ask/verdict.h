#pragma once

#include <span>
#include <string_view>

namespace hybridkv {

struct ForwardReport;
struct TransferProof;
struct VerifyReport;

/// What one or several verifications show together.
enum class Verdict {
  passed,      ///< every check ran and found nothing; of a catalogue of faults: each that has a place was caught
  not_proven,  ///< no check found a fault, but not all that was asked for could be checked
  fault,       ///< a check found a fault, or of a catalogue of faults one was not caught
};
constexpr std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::passed ? "passed" : verdict == Verdict::not_proven ? "not proven" : "fault";
}

/// What was planted, which decides what a found fault means.
enum class Planted {
  no_or_single,  ///< nothing, or faults asked for by name: a check that finds one is a fault found
  catalogue,     ///< all faults there are: each has to be caught, but for those that have no place
};

/// The worst of the reports; of none `passed`.
Verdict verdict_of(std::span<const VerifyReport> reports, Planted planted = Planted::no_or_single);
Verdict verdict_of(std::span<const ForwardReport> reports, Planted planted = Planted::no_or_single);
Verdict verdict_of(std::span<const TransferProof> proofs, Planted planted = Planted::no_or_single);

}  // namespace hybridkv
