#include "attention/microbatch.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"

namespace hybridkv::test {
namespace {

using Numbers = std::vector<std::int64_t>;

template <class Real>
AttentionOutput<Real> concatenated(AttentionOutput<Real> first, const AttentionOutput<Real>& second) {
  first.out.insert(first.out.end(), second.out.begin(), second.out.end());
  first.lse.insert(first.lse.end(), second.lse.begin(), second.lse.end());
  return first;
}

TEST_CASE("golden: a cut inside the second of two requests") {
  const auto metadata = make_metadata(Numbers{1, 5}, Numbers{32, 48}, {8, 15, 0, 14, 9, 3}, 3, 16);
  const auto [head, head_source] = slice_metadata(metadata, 0, 3);
  CHECK(head == make_metadata(Numbers{1, 2}, Numbers{32, 45}, {8, 15, 0, 14, 9, 3}, 3, 16));
  CHECK(head_source == Numbers{0, 1});
  const auto [tail, tail_source] = slice_metadata(metadata, 3, 6);
  CHECK(tail == make_metadata(Numbers{3}, Numbers{48}, {14, 9, 3}, 3, 16));
  CHECK(tail_source == Numbers{1});
  CHECK(tail.num_computed_tokens == Numbers{45});
}

TEST_CASE("edge: the whole batch, nothing of it, requests without tokens, more queries than keys") {
  const auto metadata = make_metadata(Numbers{2, 0, 3}, Numbers{8, 7, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 4);
  CHECK(slice_metadata(metadata, 0, 5).source_request == Numbers{0, 2});
  CHECK(slice_metadata(metadata, 0, 5).metadata.slot_mapping == metadata.slot_mapping);
  const CommonAttentionMetadata nothing = slice_metadata(metadata, 2, 2).metadata;
  CHECK(nothing.num_reqs == 0);
  CHECK(nothing.query_start_loc == Numbers{0});
  CHECK_NOTHROW(check_metadata(nothing));

  const auto more_queries = make_metadata(Numbers{34}, Numbers{1}, {1, 2, 3}, 3, 16);
  const CommonAttentionMetadata before = slice_metadata(more_queries, 0, 17).metadata;
  CHECK(before.seq_lens == Numbers{0});
  CHECK(before.num_computed_tokens == Numbers{-17});
  CHECK(slice_metadata(more_queries, 30, 34).metadata.num_computed_tokens == Numbers{-3});
}

TEST_CASE("law: the outputs of two slices concatenate to the whole, wherever the cut falls") {
  CHECK(rc::check("microbatches", [] {
    const Batch batch = random_batch(random_shape(), *rc::gen::arbitrary<std::uint64_t>());
    const PagedCache cache = lay_out_plain(batch);
    AttentionInputs whole = inputs_of(batch, cache);
    const std::int64_t kind = *rc::gen::inRange(0, 3);
    if (kind > 0)
      whole.mask = {kind == 1 ? MaskKind::sliding_window : MaskKind::chunked_local,
                    *rc::gen::inRange<std::int64_t>(1, 20)};
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, whole.num_tokens() + 1);
    const AttentionInputs head = slice_inputs(whole, 0, cut), tail = slice_inputs(whole, cut, whole.num_tokens());
    const auto expected = reference_attention(whole);
    const auto both = concatenated(reference_attention(head), reference_attention(tail));
    // Bit for bit.
    RC_ASSERT(both.out == expected.out);
    RC_ASSERT(both.lse == expected.lse);
    const auto unified_both =
        concatenated(unified_attention<float>(head).output, unified_attention<float>(tail).output);
    RC_ASSERT(largest_error(unified_both, expected) <= fp32_tolerance);
  }));
}

TEST_CASE("fault: a cut request that keeps its whole sequence is another result") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  const AttentionInputs whole = inputs_of(batch, cache);
  AttentionInputs head = slice_inputs(whole, 0, 12);
  const auto expected = reference_attention(whole);
  const std::span<const double> rows = std::span(expected.out).first(12 * 4 * 24);
  CHECK(largest_error<double>(reference_attention(head).out, rows) == 0);
  change_metadata(head, [](auto& metadata) {
    metadata.seq_lens[1] += 2;
    metadata.num_computed_tokens[1] += 2;
  });
  CHECK(largest_error<double>(reference_attention(head).out, rows) > 1e-3);
}

TEST_CASE("edge: a range outside the batch and a cut through tokens that see each other are refused") {
  auto metadata = make_metadata(Numbers{1, 5}, Numbers{32, 48}, {8, 15, 0, 14, 9, 3}, 3, 16);
  const auto refused = [&](std::int64_t first, std::int64_t last, const char* message) {
    CHECK_THROWS_WITH_AS(slice_metadata(metadata, first, last), doctest::Contains(message), InputError);
  };
  refused(-1, 3, "tokens [-1, 3) of a batch of 6");
  refused(0, 7, "tokens [0, 7) of a batch of 6");
  refused(4, 3, "tokens [4, 3) of a batch of 6");
  metadata.causal = false;
  refused(0, 3, "tokens [0, 3) cut request 1 with tokens [1, 6)");
  CHECK(slice_metadata(metadata, 1, 6).metadata.causal == false);
  metadata.seq_lens[0] = 33;
  refused(0, 1, "request 0: 31 context and 1 query tokens");
}

}  // namespace
}  // namespace hybridkv::test
