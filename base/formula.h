#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hybridkv {

/// A name that a formula may use.
struct FormulaSymbol {
  std::string_view name;  ///< letters and digits, a letter first
  std::int64_t value = 0;
};

/// What is wrong with a formula; the message says where in it.
class FormulaError : public InputError {
 public:
  using InputError::InputError;
};

/// The whole number that a formula comes to: + - * / and brackets over whole numbers and symbols, ceil and floor of one
/// value, max, min and lcm of several. Exact: a quotient stays a fraction until ceil or floor rounds it.
/// Throws FormulaError for what is no formula, an unknown name, a division by zero, a value that is no whole number and
/// numbers that leave 64 bits.
/// Example: "A * ceil(M / (A * a1))" with A = 16, M = 2134016 and a1 = 5120: 432.
std::int64_t value_of_formula(std::string_view formula, std::span<const FormulaSymbol> symbols);

/// Those of the symbols that a formula names, in their order. Pre: value_of_formula takes it.
std::vector<FormulaSymbol> used_symbols(std::string_view formula, std::span<const FormulaSymbol> symbols);

}  // namespace hybridkv
