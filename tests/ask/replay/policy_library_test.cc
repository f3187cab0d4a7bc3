#include "ask/replay/policy_library.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "test_paths.h"

using namespace hybridkv;

namespace {

const std::string compiled = HYBRIDKV_TEST_POLICY;

void refused(const std::string& file, const std::string& settings, const char* words) {
  CAPTURE(words);
  CHECK_THROWS_WITH_AS(policy_of_library(file, settings), doctest::Contains(words), InputError);
}

}  // namespace

TEST_CASE("golden: a compiled policy ranks and keeps as its library does") {
  const std::shared_ptr<const OwnPolicy> own = policy_of_library(compiled, "");
  CHECK(compiled.ends_with(own->name));
  const std::unique_ptr<PrefixPolicy> policy = own->make();
  CHECK(policy->rank({.since = 7}) == -7);
  CHECK(policy->keeps({.tokens = 64}));
  CHECK_FALSE(policy->keeps({.tokens = 63}));
  policy->used({});  // the library wants to be told nothing
  policy->went({});
}

TEST_CASE("edge: a library that is none, has no policy, or gives none for its settings says so") {
  refused("/nothing/policy.so", "", "no library can be loaded: /nothing/policy.so");
  refused(HYBRIDKV_TEST_DATA "/strides.jsonl", "", "no library can be loaded");
  refused("libz.so.1", "", "no library can be loaded");  // those of the system are not looked among
  refused(compiled, "refuse", "these settings are refused");
  refused(compiled, "no rank", "gave no function `rank`");
  const std::unique_ptr<PrefixPolicy> wrong = policy_of_library(compiled, "nan")->make();
  CHECK_THROWS_WITH_AS(wrong->rank({.tokens = 48}), doctest::Contains("48 tokens is not a number"), InputError);
}
