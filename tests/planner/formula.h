#pragma once

#include <string>

namespace hybridkv::testing {

/// The value of a formula of plain numbers: + - * / and brackets, ceil, floor, int, max, min and lcm.
/// "B = 16 * ceil(2134016 / (16 * 5 * 1024))" is the value behind the first " = ". Throws std::invalid_argument for
/// anything else.
double value_of_formula(const std::string& text);

}  // namespace hybridkv::testing
