// The reader of formulas that derivations are checked by, in doubles, beside the exact one of the program.
#include "tests/planner/formula.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/formula.h"

namespace hybridkv::testing {
namespace {

/// A formula of whole numbers whose quotients are all rounded.
std::string random_formula(int depth) {
  const int choice = depth == 0 ? 0 : *rc::gen::inRange(0, 8);
  const auto inner = [&] { return random_formula(depth - 1); };
  switch (choice) {
    case 1: return "(" + inner() + " + " + inner() + ")";
    case 2: return "(" + inner() + " - " + inner() + ")";
    case 3: return inner() + " * " + inner();
    case 4: return "ceil(" + inner() + " / " + std::to_string(*rc::gen::inRange(1, 100)) + ")";
    case 5: return "floor(" + inner() + " / " + std::to_string(*rc::gen::inRange(1, 100)) + ")";
    case 6: return "max(" + inner() + ", " + inner() + ")";
    case 7: return "min(" + inner() + ", " + inner() + ", " + inner() + ")";
    default: return std::to_string(*rc::gen::inRange(0, 100));
  }
}

TEST_CASE("law: exact arithmetic and one in doubles agree on whole numbers that both hold") {
  CHECK(rc::check("formulas", [] {
    const std::string formula = random_formula(3);
    const double close = value_of_formula(formula);
    RC_PRE(std::abs(close) < 1e15);
    RC_ASSERT(static_cast<double>(hybridkv::value_of_formula(formula, {})) == close);
  }));
}

}  // namespace
}  // namespace hybridkv::testing
