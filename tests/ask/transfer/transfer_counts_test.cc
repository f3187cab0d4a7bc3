#include "ask/transfer/transfer_counts.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace hybridkv;

namespace {

/// K and V of layers 3 and 7, the convolution state of layer 0, written as bf16 where it is fp32.
CopyList sample() {
  CopyList list;
  list.contents = {{.kind = "full_attention", .layer = 3, .tensor = "kv", .unique_bytes = 1000},
                   {.role = SpecRole::state, .kind = "gdn", .layer = 0, .tensor = "conv", .from_dtype = DType::fp32,
                    .to_dtype = DType::bf16, .unique_bytes = 64},
                   {.kind = "full_attention", .layer = 7, .tensor = "kv", .unique_bytes = 1000}};
  list.pairs = {{0, 0, {{.bytes = 1000, .to_bytes = 1000, .content = 0},
                        {.bytes = 128, .to_bytes = 64, .content = 1},
                        {.bytes = 1023, .to_bytes = 1023, .content = 2}}},
                {0, 1, {{.bytes = 1024, .to_bytes = 1024, .content = 0}}}};
  return list;
}

}  // namespace

TEST_CASE("golden: runs by tensor, pair and size") {
  const TransferCounts counts = count_runs(sample());
  CHECK(counts.all == RunSizes{.descriptors = 4, .bytes = 3175, .written_bytes = 3111, .shortest = 128,
                               .longest = 1024});
  CHECK(counts.unique_bytes == 2064);
  CHECK(counts.replica_bytes() == 3111 - 2064);
  CHECK(counts.median_bytes == 1000);
  REQUIRE(counts.tensors.size() == 2);
  CHECK(counts.tensors[0].kind == "full_attention");
  CHECK(counts.tensors[0].layers == 2);
  CHECK(counts.tensors[0].unique_bytes == 2000);
  CHECK(counts.tensors[0].runs.descriptors == 3);
  CHECK(counts.tensors[1].to_dtype == DType::bf16);
  CHECK(counts.tensors[1].runs.written_bytes == 64);
  CHECK(counts.tensor_of == std::vector<std::size_t>{0, 1, 0});
  REQUIRE(counts.pairs.size() == 2);
  CHECK(counts.pairs[1].to_rank == 1);
  CHECK(counts.pairs[1].runs.bytes == 1024);
  REQUIRE(counts.rows.size() == 3);
  CHECK(counts.rows[1].tensor == 1);
  // 128, then 1000 and 1023 below 1024, then 1024.
  REQUIRE(counts.sizes.size() == 3);
  CHECK(counts.sizes[0].least_bytes == 128);
  CHECK(counts.sizes[1].least_bytes == 512);
  CHECK(counts.sizes[1].descriptors == 2);
  CHECK(counts.sizes[2].least_bytes == 1024);
  CHECK(counts.sizes[2].bytes == 1024);
  CHECK(counts.of_states().descriptors == 1);
  CHECK(counts.of_tokens().descriptors == 3);
}

TEST_CASE("rule: a run that goes on into another tensor counts where it begins, its bytes where they are") {
  CopyList list = sample();
  list.pairs = {{0, 0, {{.bytes = 1128, .to_bytes = 1128, .content = 0}}, {{0, 1, 128, 128}, {0, 2, 300, 300}}}};
  const TransferCounts counts = count_runs(list);
  REQUIRE(counts.tensors.size() == 2);
  CHECK(counts.tensors[0].runs == RunSizes{1, 1000, 1000, 1128, 1128});
  CHECK(counts.tensors[1].runs == RunSizes{0, 128, 128, 0, 0});
  CHECK(counts.of_states().bytes == 128);
  CHECK(counts.rows.size() == 2);
  CHECK(counts.all == RunSizes{1, 1128, 1128, 1128, 1128});
}

TEST_CASE("edge: a list of nothing") {
  CopyList list = sample();
  list.pairs.clear();
  const TransferCounts counts = count_runs(list);
  CHECK(counts.all == RunSizes{});
  CHECK(counts.median_bytes == 0);
  CHECK(counts.sizes.empty());
  CHECK(counts.unique_bytes == 2064);
}

TEST_CASE("law: pairs, rows, tensors and sizes each add up to all") {
  CHECK(rc::check("random lists", [] {
    CopyList list = sample();
    list.pairs.clear();
    for (std::int64_t pair = *rc::gen::inRange(1, 5); pair-- > 0;) {
      RankCopies& copies = list.pairs.emplace_back(RankCopies{pair / 2, pair, {}});
      for (int run = *rc::gen::inRange(1, 30); run-- > 0;) {
        const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1, std::int64_t(1) << 40);
        copies.copies.push_back({.bytes = bytes, .to_bytes = bytes / 2 + 1, .content = *rc::gen::inRange(0, 3)});
      }
    }
    const TransferCounts counts = count_runs(list);
    RC_ASSERT(counts.all.descriptors == list.descriptors());
    RC_ASSERT(counts.all.bytes == list.moved_bytes());
    RC_ASSERT(counts.all.written_bytes == list.written_bytes());
    RC_ASSERT(counts.all.longest == list.longest_run());
    const auto adds_up = [&](const auto& parts) {
      RunSizes sum;
      for (const auto& part : parts) {
        sum.descriptors += part.runs.descriptors;
        sum.bytes += part.runs.bytes;
        sum.written_bytes += part.runs.written_bytes;
      }
      return sum.descriptors == counts.all.descriptors && sum.bytes == counts.all.bytes &&
             sum.written_bytes == counts.all.written_bytes;
    };
    RC_ASSERT(adds_up(counts.pairs));
    RC_ASSERT(adds_up(counts.rows));
    RC_ASSERT(adds_up(counts.tensors));
    std::int64_t descriptors = 0, bytes = 0;
    for (const RunSizeBin& bin : counts.sizes) {
      descriptors += bin.descriptors;
      bytes += bin.bytes;
      RC_ASSERT(bin.bytes >= bin.descriptors * bin.least_bytes);
      RC_ASSERT(bin.bytes < 2 * bin.descriptors * bin.least_bytes);
    }
    RC_ASSERT(descriptors == counts.all.descriptors);
    RC_ASSERT(bytes == counts.all.bytes);
    // The median by sorting.
    std::vector<std::int64_t> sizes;
    for (const RankCopies& pair : list.pairs)
      for (const Copy& copy : pair.copies) sizes.push_back(copy.bytes);
    std::sort(sizes.begin(), sizes.end());
    RC_ASSERT(counts.median_bytes == sizes[(sizes.size() - 1) / 2]);
  }));
}
