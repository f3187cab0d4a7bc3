#include "base/formula.h"

#include <doctest/doctest.h>

#include <string>

namespace hybridkv {
namespace {

const FormulaSymbol known[] = {{"A", 16}, {"M", 2'134'016}, {"N", 5}, {"a1", 1024}};

std::int64_t value(std::string_view formula) { return value_of_formula(formula, known); }

std::string refusal(std::string_view formula) {
  try {
    return "comes to " + std::to_string(value(formula));
  } catch (const FormulaError& error) {
    return error.what();
  }
}

TEST_CASE("rule: a formula comes to what a calculator says, and is exact where a double is not") {
  CHECK(value("A * ceil(M / (A * N * a1))") == 432);
  CHECK(value("ceil(M/(a1*N*A))*A") == 432);
  CHECK(value("2 + 3 * 4 - 6 / 2") == 11);
  CHECK(value("-(2 - 5)") == 3);
  CHECK(value("floor(-7 / 2) + ceil(-7 / 2)") == -7);
  CHECK(value("lcm(A, 24, 5)") == 240);
  CHECK(value("max(1, 3, 2) - min(1, 3, 2)") == 2);
  CHECK(value("1 / 3 + 2 / 3") == 1);
  CHECK(value("(1 / 3) * 3") == 1);
  // 2^62 + 1 has no double.
  CHECK(value("4611686018427387905 / 1") == 4'611'686'018'427'387'905);
  CHECK(value("ceil(9007199254740993 / 2)") == 4'503'599'627'370'497);
}

TEST_CASE("message: what is no formula is refused with the place in it and a way out") {
  CHECK(refusal("A * m") == "'A * m': 'm' is unknown at its character 5; did you mean 'M' or 'A' or 'N'?");
  CHECK(refusal("A * foo") ==
        "'A * foo': 'foo' is unknown at its character 5; there are A, M, N, a1, ceil(…), floor(…), max(…), min(…), "
        "lcm(…)");
  CHECK(refusal("M / A / N") == "'M / A / N' comes to 133376/5, no whole number; round it by ceil(…) or floor(…)");
  CHECK(refusal("A *") == "'A *': a number, a name or a bracket is missing at its character 4; like A * ceil(M / (A * "
                          "a1))");
  CHECK(refusal("") == "'': a number, a name or a bracket is missing at its character 1; like A * ceil(M / (A * a1))");
  CHECK(refusal("(A") == "'(A': ')' is missing at its character 3; close the bracket");
  CHECK(refusal("A A") == "'A A': 'A' is not expected at its character 3; write one formula");
  CHECK(refusal("A + $") == "'A + $': '$' is no number, no name and no bracket at its character 5; like A * ceil(M / "
                            "(A * a1))");
  CHECK(refusal("M / (N - 5)") ==
        "'M / (N - 5)': a division by zero ends at its character 12; divide by what is above it");
  CHECK(refusal("ceil(1, 2)") == "'ceil(1, 2)': ceil of 2 values ends at its character 11; give it one");
  CHECK(refusal("lcm(0, 2)").find("lcm of what is no whole number above 0") != std::string::npos);
  CHECK(refusal("9999999999 * 9999999999").find("number too large for 64 bits") != std::string::npos);
  CHECK(refusal(std::string(5000, '(') + "1").find("too many brackets") != std::string::npos);
  CHECK(refusal(std::string(5000, '-') + "1").find("too many brackets") != std::string::npos);
  CHECK(refusal("0 - 9223372036854775807 - 1").find("number too large for 64 bits") != std::string::npos);
}

TEST_CASE("rule: the symbols that a formula names are found as whole words") {
  std::string names;
  for (const FormulaSymbol& symbol : used_symbols("a1 * ceil(M / 16) + max(1, N)", known))
    names += std::string(symbol.name) + " ";
  CHECK(names == "M N a1 ");
  CHECK(used_symbols("maxA + A1", known).empty());
}

}  // namespace
}  // namespace hybridkv
