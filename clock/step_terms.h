#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clock/step_clock.h"

namespace hybridkv {

/// What a number of a term counts: things, or one of these.
enum class FactorUnit { things, seconds, flops_per_second, bytes_per_second };

/// A number by which a term multiplies or divides, and what it is: 2112 "rows", 9.89e14 FLOP/s "(bf16)".
struct TermFactor {
  double value = 1;
  std::string what;  ///< empty: a number of the formula
  FactorUnit unit = FactorUnit::things;
};

/// What the seconds of a term are of. A part takes the larger of its FLOPs and its bytes, and its times besides.
enum class TermKind { flops, bytes, time };
inline constexpr auto term_kind_names = std::to_array<Named<TermKind>>(
    {{TermKind::flops, "flops"}, {TermKind::bytes, "bytes"}, {TermKind::time, "time"}});
constexpr std::string_view to_string(TermKind value) { return name_in(term_kind_names, value); }

/// One product of the time of a step: "2 x 3,456 weights x 2,112 rows / 989 TFLOP/s / 0.53 gemm_eff".
struct StepTerm {
  StepPart part;
  TermKind kind;
  std::vector<TermFactor> times;
  std::vector<TermFactor> over;
  double seconds() const;
};

/// How the parts of a step come about: every product that is not zero, part by part. They say the same as
/// StepClock::parts, which computes them without their words.
std::vector<StepTerm> step_terms(const StepClock& clock, const StepBatch& batch);

}  // namespace hybridkv
