#include "verify/transfer/transfer_run.h"

#include "base/convert.h"
#include "tests/verify/transfer/transfer_pairs.h"

namespace hybridkv::testing {

namespace {

struct ListedPair {
  TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  TransferMap map = pair.map();
  TransferRequest request = request_between(map, pair);
  CopyList list = map.list(request);
  TransferRanks ranks{map.from(), map.to(), request.from, request.to, request.tokens};

  DescriptorCheck check(std::int64_t first_token = 0) const {
    return check_descriptors(list, ranks.from, ranks.to, first_token);
  }
};

}  // namespace

TEST_CASE("law: the descriptors of a list lie in their pools and write what is live") {
  const ListedPair listed;
  const DescriptorCheck check = listed.check();
  CHECK(check.is_safe);
  CHECK(check.result.status == CheckStatus::passed);
  CHECK(check.result.count == listed.list.written_bytes());
  // Of the tokens behind a prefix there are fewer.
  CHECK(listed.check(1).result.status == CheckStatus::failed);
}

TEST_CASE("fault: a descriptor that leaves its pool is found, and makes running the list unsafe") {
  for (const bool is_source : {true, false}) {
    ListedPair listed;
    Copy& copy = listed.list.pairs.back().copies.front();
    const TransferSide& side = is_source ? listed.map.from() : listed.map.to();
    (is_source ? copy.from : copy.to) = side.stages.front().pools.front().bytes - copy.bytes + 1;
    const DescriptorCheck check = listed.check();
    CHECK_FALSE(check.is_safe);
    CHECK(check.result.message.ends_with(is_source ? "leave the pool of the source"
                                                   : "leave the pool of the destination"));
    (is_source ? copy.from : copy.to) = -1;
    CHECK_FALSE(listed.check().is_safe);
    (is_source ? copy.from : copy.to) = 0;  // the first byte is one of the pool
    CHECK(listed.check().is_safe);
  }
}

TEST_CASE("fault: bytes that are written twice or not are counted, whatever stands in them") {
  ListedPair twice;
  twice.list.pairs.front().copies.push_back(twice.list.pairs.front().copies.back());
  CHECK(twice.check().is_safe);
  CHECK(twice.check().result.message.starts_with("destination rank 0: the descriptors write "));
  ListedPair missing;
  missing.list.pairs.back().copies.pop_back();
  CHECK(missing.check().result.message.starts_with("destination rank 3: the descriptors write "));
}

TEST_CASE("law: descriptors copy bytes, or round each element once") {
  const ListedPair listed;
  const std::vector<std::int64_t> none(1, 1);
  const HeldPages from_pages =
      transfer_pages(listed.map.from().stages.front(), listed.request.from.ids.front(), none);
  const HeldPages to_pages = transfer_pages(listed.map.to().stages.front(), listed.request.to.ids.front(), none);
  const RankMemory from(listed.ranks.from.front(), from_pages, CanarySide::from);
  const RankMemory to(listed.ranks.to.front(), to_pages, CanarySide::to);
  const std::vector<Content> contents{{.from_dtype = DType::fp32, .to_dtype = DType::bf16}};
  constexpr std::int64_t elements = 3000;
  std::vector<float> values(elements);
  draw_values(9, values);
  store_elements(from.pools.pool(0).data() + 64, DType::fp32, values);
  const std::vector<Copy> copies{
      {.from = 64, .to = 10, .bytes = elements * 4, .to_bytes = elements * 2, .content = 0},
      {.from = 64, .to = 100'000, .bytes = 12, .to_bytes = 12, .content = raw_bytes}};
  run_copies(from, to, copies, contents);
  std::vector<float> found(elements);
  load_elements(to.pools.pool(0).data() + 10, DType::bf16, found);
  round_elements(DType::bf16, values);
  CHECK(found == values);
  CHECK(std::equal(to.pools.pool(0).data() + 100'000, to.pools.pool(0).data() + 100'012,
                   from.pools.pool(0).data() + 64));
}

}  // namespace hybridkv::testing
