// What is said of a kernel in one line.
#include "planner/kernel_verdict.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("rule: a headline has the gravest reason alone, a sentence has them all") {
  const KernelFit refusing{"b 1", KernelVerdict::refuses, {"k is 5", "v is 6"}};
  CHECK(kernel_sentence(refusing) == "b 1 would refuse this layout: k is 5; v is 6");
  CHECK(kernel_headline(refusing) == "b 1 would refuse this layout: k is 5");
}
