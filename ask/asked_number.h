#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/derivation.h"

namespace hybridkv {

/// A number as somebody read it in an output or a log: "2,112", "52.92x", "3.65 %", "675MiB", "32k", "1323 blocks".
struct AskedNumber {
  std::string typed;
  double value = 0;      ///< in `unit`; bytes where that is one of memory
  double rounded_by = 0; ///< half of its last digit: how far the exact number may be from `value`
  std::string unit;      ///< "bytes", "%", "tokens", "blocks", …; empty: of any
};

/// The number that a text writes; nothing where it is none. Separators between thousands do not count; k and M without
/// a unit are powers of 1,024, as lengths are written.
std::optional<AskedNumber> asked_number(std::string_view text);

/// The same. Throws InputError, of place "number", where the text is none.
AskedNumber read_asked_number(std::string_view text);

/// Is this the number? One that was typed with a unit or decimals is met by all that round to it.
bool is_asked(const Term& term, const AskedNumber& number);

/// Where a derivation comes to a number, and why.
struct NumberSteps {
  std::vector<std::size_t> results;  ///< positions of the decisions that come to it, rising
  std::vector<std::size_t> reasons;  ///< of those that they stand on, directly or not, rising; none is a result
};

NumberSteps steps_to(const Derivation& derivation, const AskedNumber& number);

/// Numbers of derivations within a fifth of one that is none of them, the nearest first, each number once, at most
/// three: what somebody may have misread.
std::vector<Term> nearest_terms(const std::vector<Term>& results, const AskedNumber& number);

}  // namespace hybridkv
