#include "simulator/losses/slot_ledger.h"

#include <algorithm>

namespace hybridkv {

SlotLedger::SlotLedger(SlotReplay& replay) : replay_(replay) {
  replay.on_near = [this](const SlotCheckpoint& checkpoint) {
    at(checkpoint.chain, checkpoint.tokens).was_near = true;
  };
}

SlotLedger::Position& SlotLedger::at(std::uint64_t chain, std::int64_t tokens) {
  std::vector<Position>& positions = positions_[chain];
  const auto known = std::find_if(positions.begin(), positions.end(),
                                  [&](const Position& position) { return position.tokens == tokens; });
  return known != positions.end() ? *known : positions.emplace_back(Position{tokens});
}

void SlotLedger::enter_held(std::uint64_t chain, std::int64_t tokens) {
  Position& position = at(chain, tokens);
  position.last_held = requests_;
  position.was_near = false;
}

void SlotLedger::enter_held(const SavedSequence& sequence) {
  if (sequence.content.empty()) return;
  enter_held(sequence.content.back().chain, sequence.tokens());
  for (const SlotCheckpoint& checkpoint : sequence.checkpoints) enter_held(checkpoint.chain, checkpoint.tokens);
}

void SlotLedger::enter_all_held() {
  ++requests_;
  for (const ServerSlot& slot : replay_.slots()) enter_held(slot);
  for (const SavedSequence& saved : replay_.saved().entries()) enter_held(saved);
}

void SlotLedger::expect(const TraceRequest& request, std::span<const TokenRun> prompt) {
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
      trail_.missed.push_back({position.tokens, position.last_held == requests_ ? of_held
                                                : position.was_near             ? LossCause::dropped
                                                                                : LossCause::state_evicted});
  const ReuseLoss loss = book(trail_);
  stats_.add(record.index, record.input_length, loss);
  enter_all_held();
  return loss;
}

}  // namespace hybridkv
