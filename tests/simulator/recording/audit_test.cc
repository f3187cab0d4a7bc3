// Recordings of simulated runs, whatever the rules of the cache: random ones raise nothing.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "audit/event_writer.h"
#include "audit/ownership.h"
#include "simulator/recording/block_recorder.h"
#include "tests/simulator/blocks/random_geometry_033.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Random runs of each kind of cache: $HYBRIDKV_AUDITED_RUNS, else so many.
std::int64_t audited_runs() {
  const char* const asked = std::getenv("HYBRIDKV_AUDITED_RUNS");
  return asked ? std::atoll(asked) : 100;
}

/// What an audit of a simulated run has to say of it.
struct AuditedRun {
  OwnershipCounts counts;
  std::vector<OwnershipFinding> findings;
  std::vector<std::string> lines;
  std::int64_t hit_tokens = 0;
};

AuditedRun audited(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  AuditedRun run;
  const Recording recording = recording_of(geometry);
  Ownership ownership(recording, [&](const OwnershipFinding& finding) { run.findings.push_back(finding); });
  run.lines.push_back(recording_line(recording));
  BlockRecorder recorder([&](const RecordedEvent& event) {
    run.lines.push_back(recording_line(event));
    ownership.consume(event, std::ssize(run.lines));
  });
  Simulation simulation(geometry, driver, [&](const RequestRecord& record) {
    if (record.status == RequestStatus::ok) run.hit_tokens += record.hit_tokens;
  });
  recorder.watch(simulation);
  simulation.consume(batch);
  simulation.finish();
  run.counts = ownership.counts();
  return run;
}

/// A recording up to the line of a finding, as text.
std::string told(const AuditedRun& run) {
  const OwnershipFinding& finding = run.findings.front();
  std::string text = std::string(to_string(finding.fault)) + " of request " + std::to_string(finding.request) +
                     ", group " + std::to_string(finding.group) + ", block " + std::to_string(finding.block) +
                     ", tokens " + std::to_string(finding.first_token) + " to " + std::to_string(finding.end_token) +
                     ", written by " + std::to_string(finding.writer) + " in " + std::to_string(finding.writer_step) +
                     ", expected " + std::to_string(finding.expected) + ", found " + std::to_string(finding.found);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(finding.line, 400); ++i) text += "\n" + run.lines[i];
  return text;
}

TraceBatch random_batch(Dice& dice) {
  TraceBatch batch;
  for (const PromptSegments& prompt : random_prompts(dice, 14, 40)) add_request(batch, prompt, dice.roll(0, 12));
  return batch;
}

template <class Make>
OwnershipCounts audit_random_runs(Make&& make) {
  OwnershipCounts sum;
  for (std::int64_t seed = 0; seed < audited_runs(); ++seed) {
    CAPTURE(seed);
    Dice dice(static_cast<std::uint64_t>(seed));
    CacheGeometry geometry = make(dice);
    // Without states a tail may be copied before it is computed, see below.
    if (geometry.state_groups == 0 && !geometry.rules.engine->match_units) geometry.match_unit_tokens.reset();
    const TraceBatch batch = random_batch(dice);
    DriverSpec driver;
    if (dice.chance(70)) driver = {DriverKind::closed_loop, dice.roll(1, 6)};
    const AuditedRun run = audited(geometry, driver, batch);
    if (!run.findings.empty()) FAIL(told(run));
    CHECK(run.counts.hit_tokens >= run.hit_tokens);
    sum.runs += run.counts.runs;
    sum.hits += run.counts.hits;
    sum.checked_units += run.counts.checked_units;
    sum.checked_states += run.counts.checked_states;
  }
  return sum;
}

}  // namespace

TEST_CASE("law: recordings of random runs by the plain rules raise nothing") {
  const OwnershipCounts counts = audit_random_runs([](Dice& dice) { return random_arenas(dice); });
  CHECK(counts.hits > audited_runs());
  CHECK(counts.checked_units > 10 * audited_runs());
  CHECK(counts.checked_states > 10 * audited_runs());
}

TEST_CASE("law: recordings of random runs by the rules of 0.33 raise nothing") {
  const OwnershipCounts counts = audit_random_runs([](Dice& dice) {
    CacheGeometry geometry = random_geometry_033(dice);
    if (geometry.rules.checkpoint_blocks > 0) geometry.match_unit_tokens.reset();  // see below
    return geometry;
  });
  CHECK(counts.hits > audited_runs());
  CHECK(counts.checked_units > 10 * audited_runs());
  CHECK(counts.checked_states > 10 * audited_runs());
}

TEST_CASE("law: recordings of random runs in large pages raise nothing") {
  const OwnershipCounts counts = audit_random_runs([](Dice& dice) {
    CacheGeometry geometry = random_large_pages(dice);
    // A tail may be found with a state of an earlier step, and be copied before it is computed.
    geometry.match_unit_tokens.reset();
    geometry.max_num_batched_tokens += geometry.checkpoint_step();
    geometry.scheduler.long_prefill_threshold = 0;
    return geometry;
  });
  CHECK(counts.checked_units > audited_runs());
}

TEST_CASE("regression: by the plain rules, without states, a tail is copied in the step that computes it") {
  // A state that is published in a step is found only in the next one; of attention alone nobody asks.
  const CacheGeometry geometry{.block_size_tokens = 8, .num_blocks = 48, .match_unit_tokens = 2};
  const TraceBatch batch = batch_of({{{1, 5}}, {{1, 16}}});
  const AuditedRun both = audited(geometry, {DriverKind::closed_loop, 2}, batch);
  REQUIRE(both.findings.size() == 1);
  CHECK(both.findings[0].fault == OwnershipFault::not_written);
  CHECK(both.findings[0].request == 1);
  CHECK(both.findings[0].step == 1);
  CHECK(both.findings[0].end_token == 2);
  CHECK(audited(geometry, {}, batch).findings.empty());
}

TEST_CASE("regression: by the rules of 0.33 a state is found under a boundary that its chunk passed") {
  // StateColumns::publish_boundaries: a chunk that exports a state and starts inside a block leaves there the state of
  // its start, which is entered under the end of that block, as in the engine.
  CacheGeometry geometry = geometry_033(3, 60, 1);
  geometry.match_unit_tokens = 1;
  geometry.rules.checkpoint_blocks = 1;
  geometry.rules.checkpoint_alignment = 1;
  geometry.retention_interval_tokens.reset();
  const TraceBatch batch = batch_of({{{1, 2}}, {{1, 1}, {2, 22}}, {{1, 1}, {2, 3}}});
  const AuditedRun run = audited(geometry, {}, batch);
  REQUIRE(run.findings.size() == 1);
  CHECK(run.findings[0].fault == OwnershipFault::other_position);
  CHECK(run.findings[0].request == 2);
  CHECK(run.findings[0].writer == 0);
  CHECK(run.findings[0].expected == 3);
  CHECK(run.findings[0].found == 1);
}
