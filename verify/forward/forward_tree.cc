#include "verify/forward/forward_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/tree/tree_invariants.h"

namespace hybridkv {

namespace {

TreeRecord replay_prompt(TreeReplay& replay, const TreePrompt& request, std::int64_t index) {
  const std::vector<TokenRun> runs = runs_of(request.all());
  TraceRequest asked;
  asked.index = index;
  asked.input_length = runs.back().end_token - request.output.tokens;
  asked.output_length = request.output.tokens;
  return replay.run(asked, runs);
}

}  // namespace

std::vector<ContentRun> TreePrompt::all() const {
  std::vector<ContentRun> runs = prompt;
  runs.push_back(output);
  return runs;
}

std::vector<TreeRecord> replay_prompts(const TreeSettings& settings, std::span<const TreePrompt> requests) {
  TreeReplay replay(settings);
  std::vector<TreeRecord> records;
  for (const TreePrompt& request : requests) records.push_back(replay_prompt(replay, request, std::ssize(records)));
  return records;
}

std::int64_t smallest_pool(TreeSettings settings, std::int64_t TreeSettings::*size,
                           std::span<const TreePrompt> requests,
                           const std::function<bool(std::span<const TreeRecord>)>& shows) {
  const std::int64_t most = settings.*size, step = size == &TreeSettings::token_slots ? settings.page : 1;
  for (settings.*size = step; settings.*size < most; settings.*size += step) {
    const std::vector<TreeRecord> records = replay_prompts(settings, requests);
    const bool all_ended = std::all_of(records.begin(), records.end(), [](const TreeRecord& record) {
      return record.status == RequestStatus::ok;
    });
    if (all_ended && shows(records)) return settings.*size;
  }
  return most;
}

TreeRun::TreeRun(const ForwardSetting& setting, const TreeSettings& settings, ForwardResult& result)
    : setting_(setting),
      result_(result),
      engine_(setting.plan, setting.network, setting.views, setting.backends, setting.fault, setting.layout_fault),
      replay_(settings) {
  replay_.on_forward = [this](const TreeForward& computed) { compute(computed); };
  replay_.on_state_copy = [this](StateSlot from, StateSlot to) { copy_state(from, to); };
}

TreeRecord TreeRun::run(const TreePrompt& request) {
  contents_ = contents_of(request.all(), 0, 0);
  table_.clear();
  tracked_.clear();
  shared_.reset();
  records_.push_back(replay_prompt(replay_, request, std::ssize(records_)));
  match_from_.reset();
  ++result_.requests;
  return records_.back();
}

std::vector<StateSlot> TreeRun::state_slots_at(std::int64_t tokens, bool others) const {
  std::vector<StateSlot> slots;
  for (const TreeNodeId node : TreePeek::by_state(tree()).in_order())
    if ((tree().end_of(node) == tokens) != others) slots.push_back(tree().state_of(node));
  return slots;
}

void TreeRun::plant(ForwardFault fault, std::span<const StateSlot> slots) {
  if (planted(fault) && !slots.empty()) match_from_ = slots.front();
}

void TreeRun::copy_state(StateSlot from, StateSlot to) {
  if (to != replay_.request().active) {  // the tree is given a copy
    if (from == replay_.request().active) {
      from = shared_.value_or(from);
      spoilt_.erase(to);
    } else if (spoilt_.contains(from)) {
      spoilt_.insert(to);
    } else {
      spoilt_.erase(to);
    }
    return engine_.copy_state_slot(from, to);
  }
  num_planted_ += spoilt_.contains(from);
  if (planted(ForwardFault::shared_state_slot)) {
    shared_ = from;
    spoilt_.insert({from, to});
    return;
  }
  if (match_from_) num_planted_ += *match_from_ != from;
  engine_.copy_state_slot(match_from_.value_or(from), to);
}

PageRows TreeRun::with_stale_rows(const PageRows& right) {
  PageRows rows = right;
  for (std::size_t page = 0; page < std::min(table_.size(), right.size()); ++page) {
    if (table_[page] == right[page]) continue;
    rows[page] = table_[page];
    // Until it is taken again a page that went back still holds the same.
    num_planted_ += std::find(right.begin(), right.end(), table_[page]) != right.end();
  }
  table_ = rows;
  return rows;
}

PageRows TreeRun::with_freed_rows(const PageRows& right, std::size_t of_tree) {
  for (std::size_t page = 0; page < std::min(table_.size(), right.size()); ++page) {
    if (table_[page] == right[page]) continue;
    std::erase_if(freed_rows_, [&](const auto& freed) { return freed.second.row == table_[page]; });
    freed_rows_[right[page]] = {table_[page], false};
  }
  for (std::size_t page = std::max(of_tree, table_.size()); page < right.size(); ++page) {
    freed_rows_.erase(right[page]);
    for (auto& [kept, freed] : freed_rows_) freed.taken_again = freed.taken_again || freed.row == right[page];
  }
  table_ = right;
  PageRows rows = right;
  for (std::size_t page = 0; page < of_tree; ++page) {
    const auto freed = freed_rows_.find(right[page]);
    if (freed == freed_rows_.end()) continue;
    // One that the request has besides would stand twice in its table.
    if (std::find(right.begin(), right.end(), freed->second.row) != right.end()) continue;
    rows[page] = freed->second.row;
    num_planted_ += freed->second.taken_again;
  }
  return rows;
}

PageRows TreeRun::page_table() {
  const TreeRequest& request = replay_.request();
  PageRows rows = tree().rows_of(request.node);
  const std::size_t of_tree = rows.size();
  rows.insert(rows.end(), request.rows.begin(), request.rows.end());
  if (planted(ForwardFault::stale_rows)) return with_stale_rows(rows);
  if (planted(ForwardFault::freed_rows)) return with_freed_rows(rows, of_tree);
  return rows;
}

RequestBlocks TreeRun::blocks_of(const PageRows& rows) const {
  const StateSlot running = shared_.value_or(replay_.request().active);
  RequestBlocks blocks;
  for (const GroupPlan& group : setting_.plan.groups)
    if (setting_.plan.spec_of(group).state)
      blocks.states.push_back({.live = {{0, running}}, .spare = {}});
    else
      blocks.attention.push_back(rows);
  if (setting_.layout_fault == Fault::null_block_used) blocks.attention.front().front() = null_block_id;
  return blocks;
}

void TreeRun::keep(const TreeForward& computed, ForwardChunk& chunk) {
  if (computed.kept_tokens <= chunk.computed || computed.kept_tokens > chunk.end) return;
  chunk.kept_tokens = computed.kept_tokens;
  chunk.kept_slot = computed.kept_slot;
  tracked_.insert(computed.kept_slot);
  const bool wrong_slot = planted(ForwardFault::wrong_tracking_slot);
  const bool wrong_token = planted(ForwardFault::wrong_state_token);
  spoilt_.erase(computed.kept_slot);
  if (!wrong_slot && !wrong_token) return;
  spoilt_.insert(computed.kept_slot);
  if (wrong_token) --chunk.kept_tokens;
  const std::vector<StateSlot>& tracking = replay_.request().tracking;
  if (wrong_slot)
    chunk.kept_slot = tracking.front() != chunk.kept_slot
                          ? tracking.front()
                          : static_cast<StateSlot>(chunk.kept_slot % replay_.settings().state_slots + 1);
}

void TreeRun::compute_chunk(ForwardChunk chunk) {
  try {
    const std::vector<std::vector<float>> rows = engine_.run(std::span(&chunk, 1));
    compare_rows(setting_, contents_, chunk.computed, rows.front(), std::ssize(records_), result_);
  } catch (const InputError& error) {
    // With requests one at a time only a request itself can take a page again that stays in its table; attention here
    // refuses a page that stands twice in one.
    if (!planted(ForwardFault::stale_rows)) throw;
    result_.note_error(std::numeric_limits<double>::infinity(), 1);
    if (result_.status == ForwardStatus::failed) return;
    result_.status = ForwardStatus::failed;
    result_.message = fmt::format("the batch is refused: {}", error.what());
  }
}

void TreeRun::compute(const TreeForward& computed) {
  const TreeRequest& request = replay_.request();
  const std::int64_t page = replay_.settings().page;
  const PageRows rows = page_table();
  for (std::int64_t i = ceil_div(computed.start, page); i < ceil_div(computed.end, page); ++i)
    result_.reused_blocks += !used_pages_.insert(rows[static_cast<std::size_t>(i)]).second;
  if (!shared_) spoilt_.erase(request.active);
  const RequestBlocks blocks = blocks_of(rows);
  const bool is_decode = computed.start >= request.prompt_tokens;
  const std::int64_t step = is_decode ? 1 : computed.end - computed.start;
  for (std::int64_t start = computed.start; start < computed.end; start += step) {
    ForwardChunk chunk{.contents = &contents_, .blocks = &blocks, .computed = start, .end = start + step,
                       .is_decode = is_decode};
    keep(computed, chunk);
    compute_chunk(chunk);
  }
}

void TreeRun::count() {
  for (const TreeRecord& record : records_) {
    result_.hit_tokens += record.hit_tokens;
    if (record.status != RequestStatus::ok) expect(false, fmt::format("request {} did not fit", record.index));
  }
  add_work(engine_.work(), result_);
  result_.planted += engine_.work().planted + num_planted_;
}

}  // namespace hybridkv
