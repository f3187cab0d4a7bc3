#include "planner/engine_spec.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("law: names of cache modes and token rules are read back") {
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    CHECK(parse_cache_mode(to_string(mode)) == mode);
  for (TokenRule rule : {TokenRule::concurrency, TokenRule::floor}) CHECK(parse_token_rule(to_string(rule)) == rule);
}

TEST_CASE("edge: other names are none") {
  for (const char* name : {"", "None", "ALIGN", "all ", "floors"}) {
    CHECK(!parse_cache_mode(name));
    CHECK(!parse_token_rule(name));
  }
}
