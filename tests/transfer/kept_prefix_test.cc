#include "transfer/kept_prefix.h"

#include <doctest/doctest.h>

#include "tests/planner/models.h"

namespace hybridkv {
namespace {

using namespace testing;

TransferSide side_of(std::int64_t ranks, CacheMode mode = CacheMode::align, std::int64_t block = 0) {
  EngineSpec engine{.tensor_parallel = ranks, .cache_mode = mode, .memory_bytes = 40 * gib};
  if (block > 0) engine.block_size_tokens = block;
  return make_side(qwen35_397b(), engine, {.max_model_lens = {200'000}});
}

std::string refusal_of(const TransferSide& from, const TransferSide& to, std::int64_t tokens) {
  try {
    check_kept_prefix(from, to, tokens);
  } catch (const SpecError& error) {
    return error.path() + ": " + error.message();
  }
  return "";
}

TEST_CASE("golden: a prefix is of use where the destination looks for one") {
  const TransferSide two = side_of(2), eight = side_of(8);
  CHECK(two.prefix_unit == 2096);
  CHECK(eight.prefix_unit == 528);
  CHECK(refusal_of(two, eight, 528 * 10) == "");
  const std::string refusal = refusal_of(two, eight, 5000);
  CHECK(refusal.starts_with("to.engine.prefix_match_unit_tokens: a state behind 5,000 tokens is of no use"));
  CHECK(refusal.find("multiples of 528") != std::string::npos);
  CHECK(refusal.find("no prefix of these is one of both") != std::string::npos);
  // 69,168 = 33 * 2096 = 131 * 528.
  CHECK(common_prefix_tokens(two, eight, 69'167) == 0);
  CHECK(common_prefix_tokens(two, eight, 140'000) == 138'336);
  CHECK(refusal_of(two, eight, 140'000).find("(--tokens 138336)") != std::string::npos);
  CHECK(refusal_of(two, eight, 138'336) == "");
}

TEST_CASE("golden: without checkpoints no prefix is of use") {
  CHECK(refusal_of(side_of(2), side_of(8, CacheMode::none), 5280).starts_with("to.engine.cache_mode: "));
  CHECK(common_prefix_tokens(side_of(2, CacheMode::none), side_of(8), 528 * 100) == 0);
  // A source without them may still send what it has just computed.
  CHECK(refusal_of(side_of(2, CacheMode::none), side_of(8), 5280) == "");
}

TEST_CASE("golden: equal blocks give both sides the same prefixes") {
  CHECK(common_prefix_tokens(side_of(2), side_of(8, CacheMode::align, 2096), 5000) == 4192);
}

}  // namespace
}  // namespace hybridkv
