#include "attention/paged_plan.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"

namespace hybridkv::test {
namespace {

/// Requests whose first `shared` blocks are the same, blocks of 64.
CommonAttentionMetadata batch_of(const std::vector<std::int64_t>& query_lens, const std::vector<std::int64_t>& seq_lens,
                                 std::int64_t shared) {
  const std::int64_t columns = ceil_div(*std::max_element(seq_lens.begin(), seq_lens.end()), std::int64_t{64});
  std::vector<std::int64_t> table;
  std::int64_t next = 1 + shared;
  for (std::size_t request = 0; request < seq_lens.size(); ++request)
    for (std::int64_t column = 0; column < columns; ++column)
      table.push_back(column * 64 >= seq_lens[request] ? 0 : column < shared ? 1 + column : next++);
  return make_metadata(query_lens, seq_lens, table, columns, 64);
}

TEST_CASE("golden: 32 decodes behind 4096 common tokens take them together, a KV head at a time") {
  const std::vector<std::int64_t> query_lens(32, 1), seq_lens(32, 4160);
  const CommonAttentionMetadata batch = batch_of(query_lens, seq_lens, 64);
  const PagedPlan plan = plan_paged(batch, {32, 8, 128, 128}, 1);
  REQUIRE(plan.shared_items.size() == 8);
  for (const PagedItem& item : plan.shared_items) {
    CHECK(item.last_segment - item.first_segment == 32);
    CHECK(item.first_split == 0);
    CHECK(item.last_split == 4096 / paged_split_tokens);
  }
  CHECK(plan.items.size() == 32);
  for (const PagedItem& item : plan.items) {
    CHECK(item.first_split == 4096 / paged_split_tokens);
    CHECK(item.last_head - item.first_head == 8);
  }
  CHECK(plan.partial_rows == 0);
  // A thread has room for its largest item: 32 tokens of 4 query heads for a KV head, or one token for all eight.
  CHECK(plan.max_rows == 32 * 4);
  CHECK(plan.max_head_rows == 32 * 4);
}

TEST_CASE("golden: one long decode is cut into its splits when there are threads for them") {
  const CommonAttentionMetadata batch = batch_of({1}, {8192}, 0);
  CHECK(plan_paged(batch, {8, 1, 64, 64}, 1).items.size() == 1);
  const PagedPlan plan = plan_paged(batch, {8, 1, 64, 64}, 2);
  CHECK(plan.items.size() == 8192 / paged_split_tokens);
  CHECK(plan.merges.size() == plan.items.size());
  CHECK(plan.partial_rows == 8 * 8192 / paged_split_tokens);
}

TEST_CASE("golden: up to 32 rows of a head read the keys of all heads in one pass, more take a head at a time") {
  // Each KV head has four query heads: 8 tokens are 32 rows of it, 9 are 36.
  const auto items = [](std::int64_t tokens) {
    return plan_paged(batch_of({tokens}, {tokens}, 0), {12, 3, 64, 64}, 1).items;
  };
  const std::vector<PagedItem> few = items(8), many = items(9);
  REQUIRE(few.size() == 1);
  CHECK(few[0].last_head == 3);
  CHECK(few[0].cost == 3 * 32 * 8);  // rows of all three heads, with 8 keys each
  REQUIRE(many.size() == 3);
  for (std::int64_t head = 0; head < 3; ++head) {
    CHECK(many[head].first_head == head);
    CHECK(many[head].last_head == head + 1);
    CHECK(many[head].cost == 36 * 9);
  }
}

TEST_CASE("edge: a batch that has four items for every thread is not cut, one with an item less is") {
  const auto is_cut = [](std::size_t decodes) {
    const std::vector<std::int64_t> query_lens(decodes, 1), seq_lens(decodes, 2 * paged_split_tokens);
    return !plan_paged(batch_of(query_lens, seq_lens, 0), {8, 1, 64, 64}, 2).merges.empty();
  };
  CHECK(is_cut(7));
  CHECK_FALSE(is_cut(8));
}

TEST_CASE("law: an item takes as many rows as have their queries and results in a mebibyte") {
  constexpr std::int64_t mebibyte = 1 << 20;
  const CommonAttentionMetadata batch = batch_of({700}, {700}, 0);
  for (const auto& [head_size_k, head_size_v] : {std::pair{576, 512}, std::pair{512, 512}, std::pair{320, 256}}) {
    const AttentionShape shape{1, 1, head_size_k, head_size_v};
    CAPTURE(shape.head_size_k);
    const std::int64_t rows = plan_paged(batch, shape, 1).max_rows;
    const std::int64_t bytes_of_row = (shape.head_size_k + shape.head_size_v) * std::int64_t{sizeof(float)};
    CHECK(rows * bytes_of_row <= mebibyte);
    CHECK((rows + 1) * bytes_of_row > mebibyte);
  }
}

TEST_CASE("law: every token meets every split of its keys once for every KV head") {
  CHECK(rc::check("the plan covers the batch", [] {
    const auto below = [](int least, int limit) { return static_cast<std::int64_t>(*rc::gen::inRange(least, limit)); };
    std::vector<std::int64_t> query_lens, seq_lens;
    const std::int64_t requests = below(1, 8);
    for (std::int64_t i = 0; i < requests; ++i) {
      query_lens.push_back(*rc::gen::elementOf(std::vector<std::int64_t>{0, 1, 1, 2, 9, 300}));
      seq_lens.push_back(query_lens.back() + below(0, 3000));
    }
    if (*std::max_element(seq_lens.begin(), seq_lens.end()) == 0) seq_lens.back() = 1;
    const CommonAttentionMetadata batch = batch_of(query_lens, seq_lens, below(0, 40));
    KeyMask mask;
    if (*rc::gen::arbitrary<bool>()) mask = {MaskKind::sliding_window, below(1, 1500)};
    const PagedPlan plan = plan_paged(batch, {12, 3, 64, 64, mask}, below(1, 5));
    std::map<std::vector<std::int64_t>, int> met;
    // Nothing is planned for a request without tokens.
    for (const PagedSegment& segment : plan.segments) RC_ASSERT(segment.count > 0);
    for (const std::vector<PagedItem>* items : {&plan.shared_items, &plan.items})
      for (const PagedItem& item : *items)
        for (std::int64_t s = item.first_segment; s < item.last_segment; ++s)
          for (std::int64_t i = plan.segments[s].first; i < plan.segments[s].first + plan.segments[s].count; ++i)
            for (std::int64_t head = item.first_head; head < item.last_head; ++head)
              for (std::int64_t split = item.first_split; split < item.last_split; ++split)
                ++met[{plan.segments[s].request, i, head, split}];
    for (const auto& [where, times] : met) RC_ASSERT(times == 1);
    for (std::int64_t request = 0; request < batch.num_reqs; ++request)
      for (std::int64_t i = 0; i < batch.query_len(request); ++i) {
        const VisibleKeys keys = visible_keys(batch, request, i, mask);
        for (std::int64_t split = keys.first / paged_split_tokens; split * paged_split_tokens < keys.last; ++split)
          RC_ASSERT(met.count({request, i, 2, split}) == 1);
      }
  }));
}

}  // namespace
}  // namespace hybridkv::test
