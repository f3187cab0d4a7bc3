#include "verify/forward/forward_snapshot_case.h"

#include "base/checked.h"
#include "base/error.h"
#include "simulator/snapshots/plan_snapshots.h"
#include "verify/forward/forward_snapshots.h"

namespace hybridkv {

namespace {

constexpr std::int64_t whole_block = snapshot_case_block_tokens;

/// A case on one pair of pools.
class SnapshotCase {
 public:
  SnapshotCase(const ForwardSetting& setting, ForwardResult& result)
      : setting_(setting), result_(result), settings_(*setting.snapshots) {}

  void resume();
  void branch();
  void copy_on_write();
  void fresh_blocks();
  void recycling();
  void chunks();
  void copy_on_match();
  void tombstone();
  void eviction();

 private:
  /// Where a snapshot may lie that is found again: anywhere, or at the ends of blocks.
  std::int64_t found_at(std::int64_t tokens) const {
    return settings_.partial_reuse ? tokens : round_up(tokens, whole_block);
  }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  SnapshotSettings settings_;
};

void SnapshotCase::resume() {
  settings_.points = {.from_end = {0}};
  const std::int64_t first = found_at(37), second = found_at(first + 9);
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, first}}, {101, 3}});
  const SnapshotRecord next = run.run({{{1, first}, {2, second - first}}, {102, 2}});
  const SnapshotRecord last = run.run({{{1, first}, {2, second - first}, {3, 5}}, {103, 2}});
  const SnapshotRecord copy = run.run({{{1, first}, {2, second - first}, {3, 5}}});
  run.count();
  run.expect(next.hit_tokens == first && last.hit_tokens == second, "the end of the prompt before was not hit");
  run.expect(copy.hit_tokens <= second, "a prompt hit its own end");
}

void SnapshotCase::branch() {
  settings_.points = {.at_branches = true};
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, 50}}, {101, 2}});
  const SnapshotRecord parted = run.run({{{1, 2 * whole_block + 3}, {2, 30}}});
  const SnapshotRecord third = run.run({{{1, 2 * whole_block + 3}, {3, 9}}, {103, 2}});
  // Parts inside of the block that the first prompt ends in, before its state.
  const SnapshotRecord inside = run.run({{{1, 49}, {4, 6}}, {104, 2}});
  run.count();
  run.expect(parted.hit_tokens == 0 && parted.branch_tokens == 2 * whole_block,
             "no snapshot was taken where prompts part");
  run.expect(third.hit_tokens == 2 * whole_block && inside.hit_tokens == 2 * whole_block,
             "the snapshot at the branch was not hit");
}

void SnapshotCase::copy_on_write() {
  const std::int64_t shared = 37;
  settings_.points = {.from_start = {shared}};
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, shared + 3}}, {101, 2}});
  run.run({{{9, shared + 3}}});  // the page that is taken for the copy holds what is of others
  const SnapshotRecord second = run.run({{{1, shared}, {2, 20}}, {102, 2}});
  const SnapshotRecord third = run.run({{{1, shared}, {3, 9}}, {103, 2}});
  run.count();
  run.expect(second.hit_tokens == shared && third.hit_tokens == shared, "the partial block was not hit twice");
  run.expect(run.engine().work().page_copies >= 3, "no partial block was copied");
}

void SnapshotCase::fresh_blocks() {
  settings_.points = {};
  settings_.states = 1;
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, 23}}, {101, 2}});
  const std::int64_t before = run.engine().work().zeroed_dirty_states;
  const SnapshotRecord second = run.run({{{2, 23}}, {102, 2}});
  run.count();
  run.expect(second.hit_tokens == 0 && run.engine().work().zeroed_dirty_states > before,
             "no fresh slot held other bytes");
}

void SnapshotCase::recycling() {
  settings_.points = {.from_end = {0}, .at_branches = true};
  settings_.blocks = 10;
  settings_.states = 4;
  SnapshotRun run(setting_, settings_, result_);
  std::int64_t hits = 0, blocks = 0, states = 0;
  // A turn of every chat, then the next one of some.
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::int64_t shared = found_at(22), turn = found_at(shared + 11);
    std::vector<SlotPrompt> requests;
    for (const std::uint64_t chat : {1, 2, 3}) {
      requests.push_back({{{chat, shared}, {10 + round, turn - shared}}, {101, 2}});
      requests.push_back({{{chat, shared}, {10 + round, turn - shared}, {20, 7}}, {102, 2}});
    }
    requests.push_back({{{1, shared}, {10 + round, turn - shared}, {30, 9}}, {103, 2}});
    for (const SlotPrompt& request : requests) {
      const SnapshotRecord record = run.run(request);
      hits += record.hit_tokens;
      blocks += record.evicted_blocks;
      states += record.evicted_states;
    }
  }
  run.count();
  run.expect(hits > 0 && blocks > 0 && states > 0, "nothing was hit, or no K and V or no state evicted");
  run.expect(result_.reused_blocks > 2 * settings_.blocks, "pages were hardly used again");
}

void SnapshotCase::chunks() {
  const std::int64_t interval = found_at(40);
  settings_.points = {.interval_tokens = interval};
  settings_.chunk_tokens = 24;
  SnapshotRun run(setting_, settings_, result_);
  const SnapshotRecord first = run.run({{{1, 2 * interval + 10}}});
  run.expect(first.num_snapshots == 2 && run.num_steps() >= 5, "no chunk ended at a snapshot and none beside");
  const SnapshotRecord again = run.run({{{1, 2 * interval + 10}}, {102, 2}});
  const SnapshotRecord parted = run.run({{{1, interval + 20}, {2, 9}}});
  run.count();
  run.expect(again.hit_tokens == 2 * interval && parted.hit_tokens == interval,
             "the snapshots of the first prompt were not hit");
}

void SnapshotCase::copy_on_match() {
  settings_.points = {.from_start = {2 * whole_block}};
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, 2 * whole_block + 8}}, {101, 2}});
  std::int64_t hits = 0;
  for (const std::uint64_t ending : {2, 3, 4})
    hits += run.run({{{1, 2 * whole_block}, {ending, 7}}, {101 + ending, 2}}).hit_tokens;
  run.count();
  run.expect(hits == 3 * 2 * whole_block, "the snapshot was not hit by all that follow");
}

void SnapshotCase::tombstone() {
  settings_.points = {.interval_tokens = whole_block};
  settings_.states = 3;
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, 2 * whole_block + 8}}, {101, 2}});
  run.run({{{1, whole_block + 4}, {5, 4}}});  // its state is the youngest then
  const SnapshotRecord other = run.run({{{2, whole_block + 4}}});
  const SnapshotRecord back = run.run({{{1, 2 * whole_block + 8}, {3, 5}}, {103, 2}});
  const SnapshotRecord again = run.run({{{1, 2 * whole_block + 8}, {4, 3}}, {104, 2}});
  run.count();
  run.expect(other.evicted_states == 1 && other.evicted_blocks == 0, "no state was evicted alone");
  const std::int64_t found = settings_.evicts_alone ? 2 * whole_block : whole_block;
  run.expect(back.hit_tokens == whole_block && back.attention_tokens == found,
             "the state before the evicted one was not gone on from");
  run.expect(again.hit_tokens == 2 * whole_block, "a state put there again was not hit");
}

void SnapshotCase::eviction() {
  settings_.points = {.from_start = {whole_block}, .from_end = {0}};
  settings_.blocks = 5;
  const std::int64_t first = 2 * whole_block + 12;
  SnapshotRun run(setting_, settings_, result_);
  run.run({{{1, first}}, {101, 2}});
  const SnapshotRecord other = run.run({{{2, 2 * whole_block + 8}}, {102, 2}});
  const SnapshotRecord back = run.run({{{1, first}, {3, 9}}, {103, 2}});
  run.count();
  run.expect(other.evicted_blocks > 0 && other.evicted_states == 0, "no K and V were evicted");
  run.expect(back.hit_tokens == whole_block, "what was left of the path was not gone on from");
  run.expect(result_.reused_blocks > 0, "no page was taken again");
}

}  // namespace

SnapshotSettings snapshot_case_settings(const CachePlan& plan) {
  SnapshotSettings settings = snapshot_settings_of(plan);
  expects(settings.blocks >= most_forward_snapshot_ids && settings.states >= most_forward_snapshot_ids &&
              settings.block_tokens == whole_block,
          "a plan for all cases");
  settings.blocks = settings.states = most_forward_snapshot_ids;
  settings.chunk_tokens = 4 * whole_block;
  settings.decodes = true;
  return settings;
}

std::string reason_not_to_run(ForwardCase forward_case, const SnapshotSettings& settings) {
  if (settings.has_host())
    return "what lies on the host is replayed and not computed with; leave engine.host_cache_size out";
  if (forward_case == ForwardCase::fresh_blocks) return "";
  if (!settings.points.any()) return "without block reuse no snapshot is taken, so nothing is found again";
  if (forward_case == ForwardCase::copy_on_write && !settings.partial_reuse) return "no part of a block is found again";
  return "";
}

void run_snapshot_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result) {
  SnapshotCase run(setting, result);
  switch (forward_case) {
    case ForwardCase::resume: return run.resume();
    case ForwardCase::branch: return run.branch();
    case ForwardCase::copy_on_write: return run.copy_on_write();
    case ForwardCase::fresh_blocks: return run.fresh_blocks();
    case ForwardCase::recycling: return run.recycling();
    case ForwardCase::chunks: return run.chunks();
    case ForwardCase::copy_on_match: return run.copy_on_match();
    case ForwardCase::tombstone: return run.tombstone();
    case ForwardCase::eviction: return run.eviction();
    default: throw std::logic_error("a case of snapshots");
  }
}

}  // namespace hybridkv
