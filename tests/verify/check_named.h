#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "verify/verify.h"

namespace hybridkv::testing {

/// The check of that name; the test stops where the report has none.
inline const CheckResult& check_named(const VerifyReport& report, std::string_view name) {
  const auto found = std::find_if(report.checks.begin(), report.checks.end(),
                                  [&](const CheckResult& check) { return check.name == name; });
  REQUIRE(found != report.checks.end());
  return *found;
}

}  // namespace hybridkv::testing
