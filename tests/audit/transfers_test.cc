#include "audit/transfers.h"

#include <doctest/doctest.h>

#include "tests/audit/small_recording.h"

namespace hybridkv::testing {

namespace {

/// Request 17 finds tokens 0 to 3 and has those of 4 to 7 loaded into block 6, on rank 1 so many of them.
SmallRecording loading_rows(std::int64_t tokens) {
  SmallRecording tape;
  std::get<TableEvent>(tape.finds[1]).blocks = {1};
  tape.finds.push_back(TableEvent{TableChange::taken, 17, full_group, 1, {6}});
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const std::string object = "rows of rank " + std::to_string(rank);
    tape.first.push_back(StoreEvent{
        .request = 4, .object = object, .rank = rank, .group = full_group, .block = 2, .bytes = 4096});
    tape.finds.push_back(LoadEvent{.request = 17, .object = object, .rank = rank, .group = full_group, .block = 6,
                                   .bytes = 4096, .tokens = rank == 1 ? tokens : -1});
  }
  return tape;
}

}  // namespace

TEST_CASE("edge: of a block that was loaded in part the rest is not written, of one of no tokens all of it") {
  CHECK(loading_rows(-1).findings().empty());
  CHECK(loading_rows(4).findings().empty());
  for (const std::int64_t tokens : {0, 1, 2, 3}) {
    CAPTURE(tokens);
    const std::vector<OwnershipFinding> found = loading_rows(tokens).findings();
    REQUIRE(!found.empty());
    CHECK(found[0].fault == OwnershipFault::not_written);
    CHECK(found[0].request == 17);
    CHECK(found[0].rank == 1);
    CHECK(found[0].block == 6);
    CHECK(found[0].first_token == 4 + tokens);
  }
}

TEST_CASE("edge: an object of another size than its block is named where it is stored, and again if a load has more") {
  SmallRecording tape = loading_rows(-1);
  auto& stored = std::get<StoreEvent>(tape.first.back());
  auto& load = std::get<LoadEvent>(tape.finds.back());
  stored.bytes = load.bytes = 2048;
  const OwnershipFinding of_store = only_finding(tape);
  CHECK(of_store.fault == OwnershipFault::object_size);
  CHECK(of_store.request == 4);
  // More than the object has, and other than the block has: this is a fault of the load.
  load.bytes = 3072;
  const std::vector<OwnershipFinding> found = tape.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[1].fault == OwnershipFault::object_size);
  CHECK(found[1].request == 17);
  CHECK(found[1].found == 3072);
}

}  // namespace hybridkv::testing
