#include "simulator/losses/seen_prefixes.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("edge: chains that want the same places of a table are told apart, also where they take every other one") {
  // The table has 1024 places at first and is filled to a half: 512 odd chains stand in all of its odd places.
  const auto prompt = [](std::uint64_t chain) { return std::vector<TokenRun>{{5, chain}}; };
  SeenPrefixes seen;
  for (std::uint64_t chain = 1; chain < 1024; chain += 2) seen.remember(prompt(chain), 5);
  CHECK(seen.longest(prompt(1 + 1024)) == 0);
  CHECK(seen.longest(prompt(1023 + 1024)) == 0);
  seen.remember(prompt(1 + 1024), 4);
  CHECK(seen.longest(prompt(1 + 1024)) == 4);
  for (std::uint64_t chain = 1; chain < 1024; chain += 2) CHECK(seen.longest(prompt(chain)) == 5);
}
