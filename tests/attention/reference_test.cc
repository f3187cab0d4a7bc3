#include "attention/reference.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

TEST_CASE("golden: the six published cases, float64") {
  for (const std::string& name : case_names) {
    CAPTURE(name);
    const Case expected = load_case(name);
    CHECK(largest_error(reference(expected.batch), expected.expected) <= 1e-12);
  }
}

TEST_CASE("fault: a changed key, a late token or a wrong block is seen by the comparison") {
  const Case published = load_case("vllm_mixed_small");
  Batch batch = published.batch;
  batch.key_slot(batch.metadata.slot_mapping[0])[0] += 1e-3f;
  CHECK(largest_error(reference(batch), published.expected) > 1e-8);
  batch = published.batch;
  batch.metadata.causal = false;
  CHECK(largest_error(reference(batch), published.expected) > 1e-3);
  batch = published.batch;
  std::swap(batch.metadata.block_table[0], batch.metadata.block_table[4]);
  CHECK(largest_error(reference(batch), published.expected) > 1e-3);
  batch = published.batch;
  batch.value_slot(batch.metadata.slot_mapping[0])[0] = std::nanf("");
  CHECK(std::isinf(largest_error(reference(batch), published.expected)));
}

TEST_CASE("edge: a single visible key gives its V, a row without any key gives 0 and minus infinity") {
  const Batch batch = random_batch({.query_lens = {3, 1}, .context_lens = {5, 20}, .is_decode = {false, true}}, 1);
  const auto result = reference(batch, [](std::int64_t token, std::int64_t position) {
    return token == 1 && position == 4;
  });
  const std::int64_t slot = batch.metadata.block(0, 0) * 16 + 4;
  for (std::int64_t head = 0; head < 4; ++head) {
    for (std::int64_t c = 0; c < 16; ++c) {
      CHECK(result.out[(4 + head) * 16 + c] == batch.value_cache[(slot * 2 + head / 2) * 16 + c]);
      CHECK(result.out[head * 16 + c] == 0);
    }
    CHECK(std::isfinite(result.lse[4 + head]));
    CHECK(result.lse[head] == -INFINITY);
  }
}

TEST_CASE("edge: more queries than keys, aligned at the last") {
  Batch batch = random_batch({.query_lens = {34}, .context_lens = {0}, .is_decode = {false}}, 2);
  const std::int64_t one[] = {1}, many[] = {34};
  batch.metadata = make_metadata(many, one, batch.metadata.block_table, 3, 16);
  CHECK(batch.metadata.slot_mapping.front() == -1);
  CHECK(batch.metadata.slot_mapping.back() == batch.metadata.block(0, 0) * 16);
  const auto result = reference(batch);
  CHECK(result.lse[32 * 4] == -INFINITY);
  CHECK(std::isfinite(result.lse[33 * 4]));
  CHECK(result.out[33 * 4 * 16] == batch.value_slot(batch.metadata.slot_mapping.back())[0]);
  batch.metadata.causal = false;
  CHECK(reference(batch).out[0] == batch.value_slot(batch.metadata.slot_mapping.back())[0]);
}

}  // namespace
}  // namespace hybridkv::test
