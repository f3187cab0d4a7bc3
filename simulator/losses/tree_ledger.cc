#include "simulator/losses/tree_ledger.h"

#include <algorithm>

#include "simulator/blocks/prefix_positions.h"

namespace hybridkv {

TreeLedger::TreeLedger(TreeReplay& replay) : replay_(replay) {
  replay.on_forward = [this](const TreeForward& forward) { computed(forward); };
  replay.watch_states([this](std::uint64_t chain, std::int64_t tokens, TreeStateChange change) {
    changed(chain, tokens, change == TreeStateChange::kept      ? State::held
                           : change == TreeStateChange::trimmed ? State::trimmed
                                                                : State::evicted);
  });
}

void TreeLedger::changed(std::uint64_t chain, std::int64_t tokens, State state) {
  std::vector<Position>& positions = states_[chain];
  const auto at = std::find_if(positions.begin(), positions.end(),
                               [&](const Position& position) { return position.tokens == tokens; });
  if (at == positions.end())
    positions.push_back({tokens, state});
  else if (state != State::made)
    at->state = state;
}

void TreeLedger::computed(const TreeForward& forward) {
  const std::int64_t length = prompt_.back().end_token;
  computed_.remember(prompt_, std::min(forward.end, length));
  const TreeSettings& settings = replay_.settings();
  if (!settings.has_states()) return;
  const std::int64_t made = settings.has_tracking() ? forward.kept_tokens : forward.end;
  if (made == 0 || made > length) return;
  const auto run = std::lower_bound(prompt_.begin(), prompt_.end(), made, [](const TokenRun& one, std::int64_t tokens) {
    return one.end_token < tokens;
  });
  changed(run->chain, made, State::made);
}

void TreeLedger::expect(const TraceRequest& request, std::span<const TokenRun> prompt) {
  prompt_ = prompt;
  lost_.clear();
  const std::int64_t shared = announced_.longest(prompt), page = replay_.settings().page;
  announced_.remember(prompt, request.input_length);
  trail_ = {.token_exact_tokens = std::min(shared, request.input_length - 1)};
  trail_.whole_tokens = floor_to(shared, page);
  trail_.allowed_tokens = floor_to(trail_.token_exact_tokens, page);
  computed_before_ = computed_.longest(prompt);
  std::int64_t start = 0;
  for (const TokenRun& run : prompt) {
    if (start >= trail_.allowed_tokens) break;
    if (const auto known = states_.find(run.chain); known != states_.end())
      for (const Position& position : known->second)
        if (position.tokens <= std::min(run.end_token, trail_.allowed_tokens)) lost_.push_back(position);
    start = run.end_token;
  }
  std::sort(lost_.begin(), lost_.end(), [](const Position& a, const Position& b) { return a.tokens < b.tokens; });
}

ReuseLoss TreeLedger::end(const TreeRecord& record) {
  if (record.status == RequestStatus::too_long) return {};
  trail_.matched_tokens = record.hit_tokens;
  trail_.ended_ok = record.status == RequestStatus::ok;
  const auto miss = [&](std::int64_t tokens, LossCause cause) {
    if (tokens > record.hit_tokens) trail_.missed.push_back({tokens, cause});
  };
  if (replay_.settings().has_states()) {
    for (const Position& position : lost_)
      miss(position.tokens, position.state == State::evicted ? LossCause::state_evicted
                            : position.state == State::held  ? LossCause::other_group
                                                             : LossCause::dropped);
  } else {
    miss(std::min(trail_.allowed_tokens, floor_to(computed_before_, replay_.settings().page)), LossCause::kv_evicted);
    if (computed_before_ < trail_.allowed_tokens) miss(trail_.allowed_tokens, LossCause::no_memory);
  }
  const ReuseLoss loss = book(trail_);
  stats_.add(record.index, record.input_length, loss);
  return loss;
}

}  // namespace hybridkv
