// Faults planted into the recording of a simulated run: each is found, with its request, layers and step.
#include <doctest/doctest.h>

#include <string>

#include "audit/ownership.h"
#include "audit/recording_fault.h"
#include "simulator/recording/block_recorder.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Four prompts with a common beginning and two of others, three in flight, in a pool that is short.
void record_small(const std::function<void(const RecordedEvent&)>& on_event, const CacheGeometry& geometry) {
  BlockRecorder recorder(on_event);
  Simulation simulation(geometry, {DriverKind::closed_loop, 3});
  recorder.watch(simulation);
  simulation.consume(
      batch_of({{{1, 9}}, {{2, 9}}, {{1, 8}, {3, 6}}, {{2, 8}, {4, 5}}, {{1, 8}, {5, 9}}, {{6, 21}}}, 7));
  simulation.finish();
}

CacheGeometry small_geometry() {
  return {.block_size_tokens = 4, .num_blocks = 32, .state_groups = 2, .max_num_batched_tokens = 8};
}

}  // namespace

TEST_CASE("law: every fault that is planted into a recording is found, with its request, group and step") {
  const Recording recording = recording_of(small_geometry());
  for (const RecordingFault& fault : all_recording_faults()) {
    CAPTURE(fault.name);
    std::vector<OwnershipFinding> findings;
    std::int64_t line = 0;
    std::unique_ptr<Ownership> ownership;
    FaultPlanter planter(recording, fault, [&](const RecordedEvent& event) { ownership->consume(event, ++line); });
    ownership = std::make_unique<Ownership>(
        planter.recording(), [&](const OwnershipFinding& finding) { findings.push_back(finding); });
    record_small([&](const RecordedEvent& event) { planter.consume(event); }, small_geometry());
    CHECK(planter.is_planted());
    REQUIRE(!findings.empty());
    const OwnershipFinding& first = findings.front();
    CHECK(to_string(first.fault) == to_string(fault.found_as));
    CHECK(first.group >= 0);
    CHECK(first.line > 0);
    if (fault.found_as != OwnershipFault::region_size) {
      CHECK(first.request >= 0);
      CHECK(first.step >= 1);
    }
  }
}

TEST_CASE("edge: a recording with the needs of a fault and without it raises nothing; faults by name") {
  const RecordingFault none{"none", "", OwnershipFault::freed,
                            [](const OwnedCache&, const RecordedEvent&) { return std::vector<RecordedEvent>{}; }};
  std::int64_t findings = 0;
  std::unique_ptr<Ownership> ownership;
  FaultPlanter planter(recording_of(small_geometry()), none,
                       [&](const RecordedEvent& event) { ownership->consume(event, 1); });
  ownership = std::make_unique<Ownership>(planter.recording(), [&](const OwnershipFinding&) { ++findings; });
  record_small([&](const RecordedEvent& event) { planter.consume(event); }, small_geometry());
  CHECK_FALSE(planter.is_planted());
  CHECK(findings == 0);
  CHECK(ownership->counts().hits == 2);
  CHECK(find_recording_fault("nan-tail") != nullptr);
  CHECK(find_recording_fault("nan") == nullptr);
}
