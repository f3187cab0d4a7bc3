#include "attention/inputs.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

Batch small_batch() {
  return random_batch({.query_lens = {4, 1}, .context_lens = {3, 9}, .is_decode = {false, true}, .block_size = 4}, 1);
}

TEST_CASE("edge: tensors that do not fit the batch are refused with the numbers") {
  const Batch batch = small_batch();
  const PagedCache cache = lay_out(batch, {.dtype = DType::fp32});
  const auto refused = [&](const char* message, auto change) {
    AttentionInputs inputs = inputs_of(batch, cache);
    change(inputs);
    CHECK_THROWS_WITH_AS(check_inputs(inputs), doctest::Contains(message), InputError);
  };
  CHECK_NOTHROW(check_inputs(inputs_of(batch, cache)));
  refused("query has 319 elements, (5, 4, 16) are 320", [](auto& in) { in.query = in.query.first(319); });
  refused("key_new has 0 elements, (5, 2, 16) are 160", [](auto& in) { in.key_new = {}; });
  refused("value_new has 159 elements", [](auto& in) { in.value_new = in.value_new.first(159); });
  refused("3 query heads do not share 2 KV heads", [](auto& in) { in.num_query_heads = 3; });
  refused("0 query heads", [](auto& in) { in.num_query_heads = 0; });
  refused("is_decode has 1 entries for 2 requests", [](auto& in) { in.is_decode.pop_back(); });
  refused("kernel blocks of 4 tokens, which do not divide the block of 6 tokens",
          [](auto& in) { change_metadata(in, [](auto& metadata) { metadata.block_size_tokens = 6; }); });
  refused("request 1: block 9 is outside the cache of 9 blocks",
          [](auto& in) { change_metadata(in, [](auto& metadata) { metadata.block_table[3] = 9; }); });
}

TEST_CASE("edge: tensors are checked against each other also where the metadata was checked before") {
  const Batch batch = small_batch();
  const PagedCache cache = lay_out(batch, {.dtype = DType::fp32});
  AttentionInputs inputs = inputs_of(batch, cache);
  CHECK_NOTHROW(check_tensors(inputs));
  inputs.query = inputs.query.first(319);
  CHECK_THROWS_WITH_AS(check_tensors(inputs), doctest::Contains("query has 319 elements"), InputError);
}

TEST_CASE("edge: a block id counts blocks, not kernel blocks") {
  const Batch batch = small_batch();
  const PagedCache cache = lay_out(batch, {.dtype = DType::fp32, .kernel_block_size_tokens = 2});
  AttentionInputs inputs = inputs_of(batch, cache);
  CHECK(inputs.key.layout.extent("block") == 18);
  CHECK(inputs.kernel_block_tokens() == 2);
  change_metadata(inputs, [](auto& metadata) { metadata.block_table[3] = 9; });
  CHECK_THROWS_WITH_AS(check_inputs(inputs), doctest::Contains("block 9 is outside the cache of 9 blocks"), InputError);
}

TEST_CASE("edge: a view that leaves its pool or has other axes is a bug of the caller") {
  const Batch batch = small_batch();
  const PagedCache cache = lay_out(batch, {.dtype = DType::fp32});
  AttentionInputs inputs = inputs_of(batch, cache);
  inputs.value.size_bytes -= 4;
  CHECK_THROWS_AS(check_inputs(inputs), std::logic_error);
  inputs = inputs_of(batch, cache);
  inputs.key.layout = Layout({{"block", 1, 1}, {"slot", 1, 1}, {"head", 1, 1}, {"channel", 1, 1}});
  CHECK_THROWS_AS(check_inputs(inputs), std::logic_error);
}

}  // namespace
}  // namespace hybridkv::test
