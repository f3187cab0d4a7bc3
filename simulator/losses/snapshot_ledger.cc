#include "simulator/losses/snapshot_ledger.h"

#include <algorithm>

namespace hybridkv {

namespace {

LossCause cause_of(SnapshotChange change) {
  switch (change) {
    case SnapshotChange::kept: return LossCause::other_group;
    case SnapshotChange::replaced: return LossCause::dropped;
    case SnapshotChange::evicted: return LossCause::state_evicted;
    case SnapshotChange::cut: return LossCause::kv_evicted;
  }
  return LossCause::no_state;
}

}  // namespace

SnapshotLedger::SnapshotLedger(SnapshotReplay& replay) {
  replay.watch_states([this](std::uint64_t chain, std::int64_t tokens, SnapshotChange change) {
    changed(chain, tokens, change);
  });
}

void SnapshotLedger::changed(std::uint64_t chain, std::int64_t tokens, SnapshotChange change) {
  std::vector<Position>& positions = positions_[chain];
  const auto at = std::find_if(positions.begin(), positions.end(),
                               [&](const Position& position) { return position.tokens == tokens; });
  if (at == positions.end()) positions.push_back({tokens, change});
  else at->state = change;
}

void SnapshotLedger::expect(const TraceRequest& request, std::span<const TokenRun> prompt) {
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

ReuseLoss SnapshotLedger::end(const SnapshotRecord& record) {
  if (record.status == RequestStatus::too_long) return {};
  trail_.matched_tokens = record.hit_tokens;
  trail_.ended_ok = record.status == RequestStatus::ok;
  for (const Position& position : lost_)
    if (position.tokens > record.hit_tokens)
      trail_.missed.push_back({position.tokens, !trail_.ended_ok && position.state == SnapshotChange::kept
                                                    ? LossCause::no_memory
                                                    : cause_of(position.state)});
  const ReuseLoss loss = book(trail_);
  stats_.add(record.index, record.input_length, loss);
  return loss;
}

}  // namespace hybridkv
