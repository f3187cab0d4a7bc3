// The simulator with the rules of vLLM 0.33 against the slow engine: the same random requests must give the same hits,
// chunks, preemptions, tables and free queue, step by step.
#include <doctest/doctest.h>

#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/random_geometry_033.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/engine_ref_033.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Both engines, request by request and block by block.
class Twins {
 public:
  Twins(const CacheGeometry& geometry, const TraceBatch& batch, const std::vector<PromptSegments>& prompts,
        std::int64_t in_flight, bool prefill_only)
      : batch_(batch), prompts_(prompts), in_flight_(in_flight), prefill_only_(prefill_only), slow_(geometry),
        fast_(geometry, prefill_only, [&](const RequestRecord& record) { ended_fast_.push_back(record); }) {
    slow_.on_end = [&](const EngineRef033::Request& request) { ended_slow_.push_back(request); };
  }

  /// What differs first; empty = nothing.
  std::string run() {
    std::size_t next = 0;
    for (std::int64_t step = 0; next < batch_.requests.size() || fast_.num_in_flight() > 0; ++step) {
      if (step > 20000) return "does not end";
      while (next < batch_.requests.size() && fast_.num_in_flight() < in_flight_) submit(next++);
      fast_.schedule(0);
      slow_.schedule();
      if (const std::string difference = compare("scheduling"); !difference.empty()) return difference;
      fast_.complete(0);
      slow_.update();
      if (const std::string difference = compare("the step"); !difference.empty()) return difference;
    }
    return "";
  }
  const std::vector<RequestRecord>& records() const { return ended_fast_; }
  const Scheduler& fast() const { return fast_; }

 private:
  void submit(std::size_t i) {
    const TraceRequest& request = batch_.requests[i];
    fast_.submit(request, batch_.prompt(request));
    auto slow = std::make_shared<EngineRef033::Request>();
    slow->index = request.index;
    slow->n = request.input_length;
    slow->wanted = prefill_only_ ? 0 : request.output_length;
    for (const Segment& segment : prompts_[i])
      for (std::int64_t t = 0; t < segment.tokens; ++t) slow->tokens.push_back(segment.id * 1000 + slow->tokens.size());
    slow_.waiting.push_back(slow);
  }

  std::string compare(const std::string& when) {
    const auto at = [&](const std::string& what) { return what + " after " + when; };
    if (const auto violations = find_violations(fast_); !violations.empty()) return at(violations.front());
    if (ended_fast_.size() != ended_slow_.size()) return at("ends");
    for (; compared_ < ended_fast_.size(); ++compared_) {
      const RequestRecord& fast = ended_fast_[compared_];
      const EngineRef033::Request& slow = ended_slow_[compared_];
      if (fast.index != slow.index) return at("order of ends");
      if (std::string(to_string(fast.status)) != slow.status) return at("status");
      if (fast.hit_tokens != slow.hit) return at("hits");
      if (fast.preemptions != slow.preemptions) return at("preemptions");
      if (fast.evictions != slow.evictions) return at("evictions");
      if (fast.num_chunks != slow.prefill_chunks) return at("chunks");
    }
    if (fast_.running().size() != slow_.running.size()) return at("running requests");
    if (fast_.num_waiting() != std::ssize(slow_.waiting)) return at("waiting requests");
    for (std::size_t i = 0; i < slow_.running.size(); ++i) {
      const ActiveRequest& fast = *fast_.running()[i];
      const EngineRef033::Request& slow = *slow_.running[i];
      if (fast.computed_tokens != slow.computed || fast.scheduled_tokens != slow.scheduled) return at("tokens");
      for (std::size_t group = 0; group < slow.tables.size(); ++group) {
        const std::size_t states = fast.blocks.attention.size();
        const std::vector<BlockId> table = group < states ? fast.blocks.attention[group]
                                                          : fast.blocks.states[group - states].with_nulls();
        if (!std::equal(table.begin(), table.end(), slow.tables[group].begin(), slow.tables[group].end()))
          return at("the table of a group");
      }
    }
    const std::vector<BlockId> queue = ArenaPeek::queue(fast_.cache().pool()).in_order();
    const auto& slow_queue = slow_.pool.queue;
    if (when != "scheduling" && !std::equal(queue.begin(), queue.end(), slow_queue.begin(), slow_queue.end()))
      return at("the free queue");
    return "";
  }

  const TraceBatch& batch_;
  const std::vector<PromptSegments>& prompts_;
  std::int64_t in_flight_;
  bool prefill_only_;
  EngineRef033 slow_;
  std::vector<RequestRecord> ended_fast_;
  std::vector<EngineRef033::Request> ended_slow_;
  std::size_t compared_ = 0;
  Scheduler fast_;
};

}  // namespace

TEST_CASE("law: with the rules of 0.33 the simulator does what the slow engine does, in 2000 random workloads") {
  std::int64_t hits = 0, preemptions = 0, evictions = 0, copies = 0, stalled = 0, refused = 0;
  std::map<std::string, int> differences;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const CacheGeometry geometry = random_geometry_033(dice);
    const std::vector<PromptSegments> prompts = random_prompts(dice, 14, 40);
    TraceBatch batch;
    for (const PromptSegments& prompt : prompts) add_request(batch, prompt, dice.roll(0, 12));
    const bool prefill_only = dice.chance(30);
    Twins twins(geometry, batch, prompts, prefill_only ? 1 : dice.roll(1, 6), prefill_only);
    const std::string difference = twins.run();
    if (!difference.empty() && differences[difference]++ < 1) MESSAGE("seed ", seed, ": ", difference);
    for (const RequestRecord& record : twins.records()) {
      hits += record.hit_tokens;
      preemptions += record.preemptions;
      evictions += record.evictions;
      stalled += record.status == RequestStatus::stalled;
      refused += record.status == RequestStatus::refused;
    }
    copies += twins.fast().cache().copied_attention();
  }
  for (const auto& [what, count] : differences) MESSAGE(count, " times ", what);
  CHECK(differences.empty());
  CHECK(std::min({hits, preemptions, evictions, copies, stalled, refused}) > 50);
}
