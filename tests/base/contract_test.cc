#include "base/contract.h"

#include <doctest/doctest.h>

#include <cstdio>

using namespace hybridkv;

TEST_CASE("edge: a contract is asked where the build runs contracts, and nowhere else") {
  int asked = 0;
  contract([&] { return ++asked > 0; }, "something that holds");
  CHECK(asked == (runs_contracts ? 1 : 0));
}

TEST_CASE("fault: a broken contract is a bug, said in words") {
  if (!runs_contracts) {
    contract([] { return false; }, "nothing");
    std::puts("SKIPPED: this build does not run contracts; the presets dev and relassert do");
    return;
  }
  CHECK_THROWS_WITH_AS(contract([] { return false; }, "a block is held once"),
                       "precondition broken: a block is held once", std::logic_error);
}
