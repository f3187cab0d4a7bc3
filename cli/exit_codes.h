#pragma once

#include "ask/verdict.h"

namespace hybridkv {

/// Exit codes of every command; stable.
enum ExitCode {
  exit_fine = 0,
  exit_fault_found = 1,      ///< a check found a fault
  exit_bad_input = 2,        ///< bad input or usage
  exit_no_resources = 3,     ///< not enough memory or disk, or the kernel refuses the reservation
  exit_program_missing = 4,  ///< an external program is missing
  exit_not_proven = 5,       ///< no check found a fault, but not everything that was asked for could be checked
  exit_internal = 70,        ///< a bug of hybridkv
};

/// The exit code of what verifications showed.
constexpr ExitCode exit_code_of(Verdict verdict) {
  return verdict == Verdict::passed ? exit_fine : verdict == Verdict::not_proven ? exit_not_proven : exit_fault_found;
}

}  // namespace hybridkv
