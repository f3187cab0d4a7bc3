#include "verify/attention_check.h"

#include <doctest/doctest.h>

#include "tests/verify/check_named.h"
#include "tests/verify/plans.h"
#include "verify/verify.h"

using namespace hybridkv;

TEST_CASE("fault: an output that is wrong is named with its request, from the first one on") {
  // The requests that are taken by themselves begin with one that goes on from cached tokens, and a stale entry is that
  // of the first such request: its first token is the first whose output is wrong.
  VerifySpec spec;
  spec.fault = Fault::stale_block;
  const CheckResult check =
      testing::check_named(verify_plan(testing::small_plan(2), spec), info_of(Fault::stale_block).found_by);
  CAPTURE(check.message);
  CHECK(check.message.find(", request 0 (first block ") != std::string::npos);
  CHECK(check.message.find("), token 0, query head 0: attention gives ") != std::string::npos);
}
