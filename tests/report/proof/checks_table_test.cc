#include "report/proof/checks_table.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

TEST_CASE("golden: a numeric check says its error and what is allowed, an exact one that it is exact") {
  const std::vector<CheckResult> checks{
      {.name = "addresses", .count = 7, .unit = "elements"},
      {.name = "attention", .count = 3, .unit = "outputs", .max_error = 0.25, .tolerance = 0.5},
      {.name = "states", .status = CheckStatus::not_run}};
  CHECK(render_csv(checks_table(checks)) ==
        "check,status,count,unit,max_error,tolerance\n"
        "addresses,passed,7,elements,exact,\n"
        "attention,passed,3,outputs,2.5e-01,5.0e-01\n"
        "states,not run,,,,\n");
}
