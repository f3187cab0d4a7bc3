#include "simulator/losses/slot_ledger.h"

#include <algorithm>

namespace hybridkv {

namespace {

/// The chain of the run in which a length of a sequence lies. Pre: it is not longer.
std::uint64_t chain_at(std::span<const TokenRun> content, std::int64_t tokens) {
  return std::lower_bound(content.begin(), content.end(), tokens,
                          [](const TokenRun& run, std::int64_t length) { return run.end_token < length; })
      ->chain;
}

}  // namespace

SlotLedger::SlotLedger(SlotReplay& replay) : replay_(replay), ends_(replay.slots().size()) {
  replay.on_drop = [this](const ServerSlot& slot, const SlotCheckpoint& checkpoint, CheckpointDrop why) {
    dropped(slot, checkpoint, why);
  };
}

SlotLedger::End SlotLedger::end_of(const ServerSlot& slot) {
  return slot.content.empty() ? End{} : End{slot.content.back().chain, slot.tokens()};
}

SlotLedger::Position& SlotLedger::at(std::uint64_t chain, std::int64_t tokens) {
  std::vector<Position>& positions = positions_[chain];
  const auto known = std::find_if(positions.begin(), positions.end(),
                                  [&](const Position& position) { return position.tokens == tokens; });
  return known != positions.end() ? *known : positions.emplace_back(Position{tokens, 0, CheckpointDrop::evicted});
}

void SlotLedger::dropped(const ServerSlot& slot, const SlotCheckpoint& checkpoint, CheckpointDrop why) {
  const bool is_new = checkpoint.request == index_;  // then it was never entered
  Position& position =
      at(chain_at(is_new ? prompt_ : std::span<const TokenRun>(slot.content), checkpoint.tokens), checkpoint.tokens);
  position.held -= is_new ? 0 : 1;
  position.gone = why;
}

void SlotLedger::enter_changes(const SlotRecord& record) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const End now = end_of(replay_.slots()[i]);
    if (now == ends_[i]) continue;
    if (ends_[i].tokens > 0) {
      Position& before = at(ends_[i].chain, ends_[i].tokens);
      --before.held;
      before.gone = CheckpointDrop::evicted;
    }
    if (now.tokens > 0) ++at(now.chain, now.tokens).held;
    ends_[i] = now;
  }
  if (record.slot < 0) return;
  for (const SlotCheckpoint& checkpoint : replay_.slots()[static_cast<std::size_t>(record.slot)].checkpoints)
    if (checkpoint.request == record.index) ++at(chain_at(prompt_, checkpoint.tokens), checkpoint.tokens).held;
}

void SlotLedger::expect(const TraceRequest& request, std::span<const TokenRun> prompt) {
  prompt_ = prompt;
  index_ = request.index;
  lost_.clear();
  const std::int64_t shared = announced_.longest(prompt);
  announced_.remember(prompt, request.input_length);
  trail_ = {.token_exact_tokens = std::min(shared, request.input_length - 1)};
  trail_.whole_tokens = shared;
  trail_.allowed_tokens = trail_.token_exact_tokens;
  std::int64_t start = 0;
  for (const TokenRun& run : prompt) {
    if (start >= trail_.allowed_tokens) break;
    if (const auto known = positions_.find(run.chain); known != positions_.end())
      for (const Position& position : known->second)
        if (position.tokens <= std::min(run.end_token, trail_.allowed_tokens)) lost_.push_back(position);
    start = run.end_token;
  }
  std::sort(lost_.begin(), lost_.end(), [](const Position& a, const Position& b) { return a.tokens < b.tokens; });
}

ReuseLoss SlotLedger::end(const SlotRecord& record) {
  if (record.status == RequestStatus::too_long) return {};
  trail_.matched_tokens = record.hit_tokens;
  trail_.ended_ok = record.status == RequestStatus::ok;
  const LossCause of_held = trail_.ended_ok ? LossCause::other_group : LossCause::no_memory;
  for (const Position& position : lost_)
    if (position.tokens > record.hit_tokens)
      trail_.missed.push_back({position.tokens, position.held > 0                       ? of_held
                                                : position.gone == CheckpointDrop::near ? LossCause::dropped
                                                                                        : LossCause::state_evicted});
  const ReuseLoss loss = book(trail_);
  stats_.add(record.index, record.input_length, loss);
  enter_changes(record);
  return loss;
}

}  // namespace hybridkv
