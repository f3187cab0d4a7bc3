#include "verify/forward/forward_snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/random.h"

namespace hybridkv {

SnapshotRun::SnapshotRun(const ForwardSetting& setting, const SnapshotSettings& settings, ForwardResult& result)
    : setting_(setting),
      result_(result),
      engine_(setting.plan, setting.network, setting.views, setting.backends, setting.fault, setting.layout_fault),
      replay_(settings) {
  expects(settings.decodes && settings.blocks <= setting.plan.arenas[0].usable_ids() &&
              settings.states <= setting.plan.arenas[1].usable_ids(),
          "the plan has all pages and slots, and requests generate");
  replay_.on_forward = [this](std::int64_t start, std::int64_t end) { compute(start, end); };
  replay_.on_page_copy = [this](SnapshotPage from, SnapshotPage to) { copy_page(from, to); };
  replay_.on_state_copy = [this](SnapshotPage from, SnapshotPage to) { copy_state(from, to); };
  if (!plants_snapshots()) return;
  replay_.watch_states([this](std::uint64_t chain, std::int64_t tokens, SnapshotChange change) {
    follow_state(chain, tokens, change);
  });
}

SnapshotRecord SnapshotRun::run(const SlotPrompt& request) {
  const std::vector<TokenRun> prompt = runs_of(request.prompt);
  prompt_tokens_ = prompt.back().end_token;
  contents_ = contents_of(request.all(), 0, 0);
  chains_.assign(1, 0);
  for (const std::uint64_t content : contents_) chains_.push_back(mix(chains_.back(), content));
  computed_.reset();
  shared_.reset();
  TraceRequest asked;
  asked.index = std::ssize(records_);
  asked.input_length = prompt_tokens_;
  asked.output_length = request.output.tokens + 1;  // the last token of all is never computed
  records_.push_back(replay_.run(asked, prompt));
  ++result_.requests;
  return records_.back();
}

BlockId SnapshotRun::page_row(SnapshotPage page) const {
  return static_cast<BlockId>(setting_.plan.arenas[0].first_id() + page);
}

BlockId SnapshotRun::state_row(SnapshotPage state) const {
  return static_cast<BlockId>(setting_.plan.arenas[1].first_id() + state);
}

RequestBlocks SnapshotRun::blocks_of_request() const {
  RequestBlocks blocks;
  std::vector<BlockId>& rows = blocks.attention.emplace_back();
  for (const SnapshotPage page : replay_.held()) rows.push_back(page_row(page));
  blocks.states.push_back({.live = {{0, state_row(running())}}, .spare = {}});
  return blocks;
}

std::uint64_t& SnapshotRun::written(std::int64_t position) {
  const std::int64_t block_tokens = replay_.settings().block_tokens;
  std::vector<std::uint64_t>& page = pages_[replay_.held()[static_cast<std::size_t>(position / block_tokens)]];
  page.resize(static_cast<std::size_t>(block_tokens));
  return page[static_cast<std::size_t>(position % block_tokens)];
}

bool SnapshotRun::reads_others(std::int64_t start) {
  if (start == 0) return false;
  if (states_[running()] != chains_[static_cast<std::size_t>(start)]) return true;
  for (std::int64_t position = 0; position < start; ++position)
    if (written(position) != chains_[static_cast<std::size_t>(position + 1)]) return true;
  return false;
}

void SnapshotRun::copy_page(SnapshotPage from, SnapshotPage to) {
  const BlockCopy copy{.from = page_row(from), .to = page_row(to), .arena = 0};
  engine_.copy_pages(std::span(&copy, 1));
  result_.reused_blocks += !used_pages_.insert(to).second;
  if (!planted(ForwardFault::missed_page_copy)) pages_[to] = pages_[from];
}

SnapshotPage SnapshotRun::another_state(SnapshotPage state) const {
  for (const auto& [other, chain] : states_)
    if (replay_.states().is_idle(other) && chain != states_.at(state)) return other;
  return state;
}

void SnapshotRun::copy_state(SnapshotPage from, SnapshotPage to) {
  const bool is_hit = to == replay_.running();
  if (is_hit && planted(ForwardFault::shared_state_slot)) {
    shared_ = from;
    return;
  }
  if (is_hit && planted(ForwardFault::foreign_snapshot)) from = another_state(from);
  if (from == replay_.running()) from = running();
  if (!is_hit && before_last_) {
    engine_.load_state_slot(before_last_->bytes, state_row(to));
    states_[to] = before_last_->chain;
    return;
  }
  if (from != to) engine_.copy_state_slot(state_row(from), state_row(to));
  states_[to] = states_[from];
  if (is_hit || !plants_snapshots()) return;
  const auto end = contents_.begin() + *computed_;
  made_ = {states_[to], {contents_.begin(), end}, engine_.save_state_slot(state_row(to))};
}

void SnapshotRun::follow_state(std::uint64_t chain, std::int64_t tokens, SnapshotChange change) {
  const std::pair key{chain, tokens};
  if (change == SnapshotChange::kept) {
    lost_.erase(key);
    kept_[key] = std::move(made_);
    return;
  }
  if (change == SnapshotChange::cut) lost_[key] = std::move(kept_[key]);
  kept_.erase(key);
}

bool SnapshotRun::is_taken_for(const Snapshot& snapshot) const {
  const std::int64_t tokens = std::ssize(snapshot.contents);
  if (tokens >= prompt_tokens_) return false;
  if (planted(ForwardFault::lost_pages)) return snapshot.chain == chains_[static_cast<std::size_t>(tokens)];
  // Prompts part inside of its block, and before it.
  const std::int64_t block_tokens = replay_.settings().block_tokens;
  const auto parts = std::mismatch(snapshot.contents.begin(), snapshot.contents.end(), contents_.begin()).first;
  const std::int64_t common = parts - snapshot.contents.begin();
  return common < tokens && common > (tokens - 1) / block_tokens * block_tokens;
}

void SnapshotRun::go_on_from_lost(std::int64_t start) {
  for (const auto& [key, snapshot] : planted(ForwardFault::lost_pages) ? lost_ : kept_) {
    const std::int64_t tokens = std::ssize(snapshot.contents);
    if (tokens <= *computed_ || tokens <= start || !is_taken_for(snapshot)) continue;
    engine_.load_state_slot(snapshot.bytes, state_row(running()));
    states_[running()] = snapshot.chain;
    computed_ = tokens;
  }
}

void SnapshotRun::compute(std::int64_t start, std::int64_t end) {
  if (!computed_) {
    computed_ = start;
    if (plants_snapshots()) go_on_from_lost(start);
  }
  const bool is_decode = start >= prompt_tokens_;
  num_steps_ += is_decode ? 0 : 1;
  start = std::max(start, *computed_);
  const bool stops_early = planted(ForwardFault::wrong_state_token) && !is_decode && start + 1 < end;
  const std::int64_t step = is_decode ? 1 : stops_early ? end - 1 - start : end - start;
  before_last_.reset();
  while (start < end) {
    const std::int64_t next = std::min(start + step, end);
    compute_chunk(start, next);
    start = next;
    if (stops_early && start < end)
      before_last_ = {states_[running()], {}, engine_.save_state_slot(state_row(running()))};
  }
}

void SnapshotRun::compute_chunk(std::int64_t start, std::int64_t end) {
  if (setting_.fault) num_planted_ += reads_others(start);
  const std::int64_t block_tokens = replay_.settings().block_tokens;
  for (std::int64_t block = ceil_div(start, block_tokens); block < ceil_div(end, block_tokens); ++block)
    result_.reused_blocks += !used_pages_.insert(replay_.held()[static_cast<std::size_t>(block)]).second;
  const RequestBlocks blocks = blocks_of_request();
  const ForwardChunk chunk{.contents = &contents_, .blocks = &blocks, .computed = start, .end = end,
                           .is_decode = start >= prompt_tokens_};
  const std::vector<std::vector<float>> rows = engine_.run(std::span(&chunk, 1));
  compare_rows(setting_, contents_, start, rows.front(), std::ssize(records_), result_);
  for (std::int64_t position = start; position < end; ++position)
    written(position) = chains_[static_cast<std::size_t>(position + 1)];
  states_[running()] = chains_[static_cast<std::size_t>(end)];
  computed_ = end;
}

void SnapshotRun::count() {
  for (const SnapshotRecord& record : records_) {
    result_.hit_tokens += record.hit_tokens;
    if (record.status != RequestStatus::ok) expect(false, fmt::format("request {} did not fit", record.index));
  }
  add_work(engine_.work(), result_);
  result_.planted += setting_.fault == ForwardFault::skip_zeroing ? engine_.work().planted : num_planted_;
}

}  // namespace hybridkv
