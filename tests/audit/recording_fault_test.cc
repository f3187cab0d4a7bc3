#include "audit/recording_fault.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "tests/audit/small_recording.h"

namespace hybridkv::testing {

TEST_CASE("fault: a block that is taken while it is held is one that another request has alone") {
  SmallRecording tape;
  tape.between.clear();  // request 4 stays, and of its blocks request 17 finds all but 11 and 21
  std::vector<OwnershipFinding> found;
  std::unique_ptr<Ownership> ownership;
  FaultPlanter planter(tape.recording, *find_recording_fault("taken-while-held"),
                       [&](const RecordedEvent& event) { ownership->consume(event, 1); });
  ownership = std::make_unique<Ownership>(planter.recording(),
                                          [&](const OwnershipFinding& finding) { found.push_back(finding); });
  for (const auto* part : {&tape.first, &tape.comes, &tape.finds, &tape.takes})
    for (const RecordedEvent& event : *part) planter.consume(event);
  CHECK(planter.is_planted());
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().fault == OwnershipFault::taken_while_held);
  CHECK(found.front().request == 17);
  CHECK(found.front().writer == 4);
  CHECK(found.front().group == full_group);
  CHECK(found.front().block == 11);
}

}  // namespace hybridkv::testing
