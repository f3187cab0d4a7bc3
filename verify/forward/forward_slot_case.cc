#include "verify/forward/forward_slot_case.h"

#include "base/checked.h"
#include "planner/tensor_pool_rules.h"
#include "verify/forward/forward_slots.h"

namespace hybridkv {

namespace {

constexpr std::int64_t small_step = 16;
constexpr std::int64_t tail = checkpoint_tail_tokens;

/// A case on one server. Checkpoints of a prompt of n tokens lie at n - 20 and n - 4.
class SlotCase {
 public:
  SlotCase(const ForwardSetting& setting, ForwardResult& result)
      : setting_(setting), result_(result), settings_(*setting.slots), caches_(settings_.checkpoints > 0) {
    settings_.saved_bytes = 0;
  }

  void chunks();
  void resume();
  void branch();
  void fresh_blocks();
  void eviction();
  void decode_state();
  void recycling();
  void drafts();
  void saved_prompts();
  void one_past();

 private:
  const ForwardSetting& setting_;
  ForwardResult& result_;
  SlotSettings settings_;
  bool caches_;  // checkpoints
};

void SlotCase::chunks() {
  settings_.slots = 1;
  SlotRun run(setting_, settings_, result_);
  const SlotRecord first = run.run({{{1, 50}}});
  run.expect(run.num_steps() == 4 && first.checkpoints_made == 2, "the first prompt did not stop at its checkpoints");
  const SlotRecord second = run.run({{{1, 40}, {2, 9}}, {101, 2}});
  run.count();
  run.expect(second.hit_tokens == 50 - tail - small_step && run.num_restored() == 1,
             "the second prompt did not go on from the checkpoint on the way");
}

void SlotCase::resume() {
  settings_.slots = 1;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 50}}, {101, 3}});
  const SlotRecord again = run.run({{{1, 50}}, {102, 2}});
  const SlotRecord parted = run.run({{{1, 48}, {2, 5}}, {103, 2}});
  run.count();
  run.expect(again.hit_tokens == 50 - tail && parted.hit_tokens == again.hit_tokens && run.num_restored() == 2,
             "the checkpoint was not restored twice");
}

void SlotCase::branch() {
  settings_.slots = 1;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 50}}, {101, 2}});
  const SlotRecord parted = run.run({{{1, 35}, {2, 15}}, {102, 2}});
  const SlotRecord beside = run.run({{{1, 35}, {2, 13}, {3, 6}}});
  const SlotRecord back = run.run({{{1, 50}}, {101, 2}});
  run.count();
  const std::int64_t before = 50 - tail - small_step, behind = 50 - tail;
  run.expect(parted.hit_tokens == before && parted.checkpoints_dropped == 2 && parted.checkpoints_made == 2,
             "no checkpoint behind the branch was dropped, and those at and behind it made anew");
  run.expect(beside.hit_tokens == behind, "the checkpoint behind the branch was not restored");
  run.expect(back.hit_tokens == before && run.num_restored() == 3, "the checkpoint before the branch is gone");
}

void SlotCase::fresh_blocks() {
  settings_.slots = 1;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 23}}, {101, 2}});
  const std::int64_t before = run.engine().work().zeroed_dirty_states;
  const SlotRecord second = run.run({{{2, 23}}, {102, 2}});
  run.count();
  run.expect(second.hit_tokens == 0 && run.engine().work().zeroed_dirty_states > before,
             "no fresh row held other bytes");
}

void SlotCase::eviction() {
  settings_.slots = 3;
  settings_.cells = 64;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 30}}});
  const SlotRecord cleared = run.run({{{2, 25}}});
  run.run({{{1, 30}, {4, 2}}});
  const SlotRecord third = run.run({{{3, 30}}});
  run.expect(run.num_cleared() == 1 && run.holds_nothing(cleared.slot), "no other slot was cleared");
  // What it generates clears one more.
  const SlotRecord kept = run.run({{{1, 30}, {4, 2}, {5, 2}}, {101, 3}});
  run.expect(run.num_cleared() == 2 && run.holds_nothing(third.slot), "no slot was cleared while decoding");
  const SlotRecord again = run.run({{{2, 25}}});
  run.count();
  run.expect(kept.hit_tokens == 32 && again.hit_tokens == 0 && !run.holds_nothing(kept.slot),
             "another slot than the ones that were cleared lost its own");
  run.expect(result_.reused_blocks > 0, "no cell of a cleared slot was taken again");
}

void SlotCase::decode_state() {
  settings_.slots = 2;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 30}}, {101, 6}});
  const SlotRecord second = run.run({{{1, 30}, {101, 6}, {2, 9}}, {102, 3}});
  const SlotRecord third = run.run({{{1, 30}, {101, 6}, {2, 9}, {102, 3}, {3, 7}}});
  run.count();
  run.expect(second.hit_tokens == 36 && third.hit_tokens == 48 && run.num_restored() == 0,
             "the running state of the slot was not gone on from");
}

void SlotCase::recycling() {
  settings_.slots = 3;
  settings_.cells = 88;
  settings_.checkpoint_step = 24;
  if (caches_) settings_.checkpoints = 2;
  SlotRun run(setting_, settings_, result_);
  std::int64_t hits = 0, dropped = 0;
  // A turn of every chat, then the next one, in an order in which no chat just takes the slot used longest ago; while
  // one goes on, those beside it are cleared.
  for (std::uint64_t round = 0; round < 4; ++round) {
    std::vector<SlotPrompt> requests;
    for (const std::uint64_t chat : {1, 2, 3}) requests.push_back({{{chat, 22}, {10 + round, 5}}, {101, 2}});
    for (const std::uint64_t chat : {2, 1, 3})
      requests.push_back({{{chat, 22}, {10 + round, 5}, {101, 2}, {20, 3}}, {102, 2}});
    for (const SlotPrompt& request : requests) {
      const SlotRecord record = run.run(request);
      hits += record.hit_tokens;
      dropped += record.checkpoints_dropped;
    }
  }
  run.count();
  run.expect(hits > 0 && run.num_cleared() > 0, "nothing was hit or no slot cleared");
  run.expect(!caches_ || dropped > 0, "no checkpoint was dropped");
  run.expect(result_.reused_blocks > 2 * settings_.cells, "cells were hardly used again");
}

void SlotCase::drafts() {
  settings_.slots = 2;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 30}}, {101, 7}});
  const SlotRecord beside = run.run({{{5, 30}}, {105, 5}});
  const SlotRecord next = run.run({{{1, 30}, {101, 7}, {2, 9}}, {102, 7}});
  // Rows take back drafts and no prompts: one that parts inside of what was generated needs a checkpoint.
  const SlotRecord parted = run.run({{{1, 30}, {101, 7}, {2, 9}, {102, 5}, {3, 6}}});
  run.count();
  run.expect(result_.rejected > 0, "no draft token was rejected");
  run.expect(beside.slot != next.slot, "no other slot ran in between");
  run.expect(next.hit_tokens == 37, "the running state behind accepted drafts was not gone on from");
  run.expect(parted.hit_tokens == (caches_ ? 46 - tail : 0) && run.num_restored() == (caches_ ? 1 : 0),
             "a prompt that parts inside of what was generated did not go on from a checkpoint");
}

void SlotCase::saved_prompts() {
  settings_.slots = 2;
  settings_.cells = 128;
  settings_.saved_bytes = std::int64_t{1} << 40;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 40}}, {101, 3}});
  run.run({{{2, 30}}, {102, 2}});
  // Each slot was emptied when the other one ran, and gets back what it had, or what the other one had.
  const SlotRecord next = run.run({{{1, 40}, {101, 3}, {3, 8}}, {103, 2}});
  const SlotRecord parted = run.run({{{2, 28}, {4, 9}}, {104, 2}});
  const SlotRecord fresh = run.run({{{5, 20}}});
  const SlotRecord moved = run.run({{{1, 40}, {101, 3}, {3, 8}, {103, 2}, {6, 5}}});
  run.count();
  run.expect(next.loaded_tokens == 43 && next.hit_tokens == 43, "no slot went on at the end of a saved prompt");
  run.expect(parted.loaded_tokens == 32 && parted.hit_tokens == (caches_ ? 30 - tail : 0) &&
                 run.num_restored() == (caches_ ? 1 : 0),
             "no saved prompt was gone on from where another one parts from it");
  run.expect(moved.hit_tokens == 53 && moved.slot != next.slot && fresh.slot == next.slot && run.num_loaded() == 3,
             "no saved prompt came into another slot");
}

void SlotCase::one_past() {
  settings_.slots = 1;
  SlotRun run(setting_, settings_, result_);
  run.run({{{1, 54}}});
  // From the checkpoint at 50; one more is made at 51.
  run.run({{{1, 51}, {2, 4}}});
  const SlotRecord parted = run.run({{{1, 50}, {3, 40}}});
  const SlotRecord last = run.run({{{1, 50}, {3, 1}, {4, 10}}, {101, 2}});
  run.count();
  run.expect(parted.hit_tokens == 50 && last.hit_tokens >= 50 && run.num_restored() == 3,
             "no checkpoint lay one token past where a prompt went on");
}

}  // namespace

std::int64_t slot_case_memory_bytes(const CachePlan& plan) {
  expects(plan.rows.has_value(), "a plan with rows by sequence");
  const Checked rows = Checked(plan.rows->sequences) * plan.rows->rows_per_sequence;
  return rows * plan.arenas[1].bytes_per_id + most_forward_cells * Checked(plan.arenas[0].bytes_per_id);
}

SlotSettings slot_case_settings(const CachePlan& plan) {
  SlotSettings settings = slot_settings_of(plan);
  expects(settings.slots >= most_forward_slots && settings.cells >= most_forward_cells, "a plan for all cases");
  settings.batch_tokens = 64;
  settings.step_tokens = small_step;
  settings.checkpoint_step = 0;
  if (settings.checkpoints > 0) settings.checkpoints = 4;
  settings.saves_idle = true;
  settings.least_similarity = SlotSettings{}.least_similarity;
  return settings;
}

std::string reason_not_to_run(ForwardCase forward_case, const SlotSettings& settings) {
  if (forward_case == ForwardCase::saved_prompts && !settings.saves_prompts()) return "no prompt is saved on the host";
  const bool restores = forward_case == ForwardCase::resume || forward_case == ForwardCase::branch ||
                        forward_case == ForwardCase::chunks || forward_case == ForwardCase::one_past;
  return restores && settings.checkpoints == 0 ? "no checkpoint is made, so none is restored" : "";
}

void run_slot_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result) {
  SlotCase run(setting, result);
  switch (forward_case) {
    case ForwardCase::resume: return run.resume();
    case ForwardCase::branch: return run.branch();
    case ForwardCase::drafts: return run.drafts();
    case ForwardCase::fresh_blocks: return run.fresh_blocks();
    case ForwardCase::recycling: return run.recycling();
    case ForwardCase::chunks: return run.chunks();
    case ForwardCase::eviction: return run.eviction();
    case ForwardCase::decode_state: return run.decode_state();
    case ForwardCase::saved_prompts: return run.saved_prompts();
    case ForwardCase::one_past: return run.one_past();
    default: throw std::logic_error("a case of slots");
  }
}

}  // namespace hybridkv
