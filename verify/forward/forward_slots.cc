#include "verify/forward/forward_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace hybridkv {

namespace {

/// Cells are taken so many apart at first, so that those of a slot never lie side by side.
constexpr std::int64_t cell_stride = 97;

/// Tokens of the steps of a decode with drafts that are kept, as far as a step has as many; in turn.
constexpr std::array<std::int64_t, 3> kept_of_step{2, 1, 4};

constexpr std::uint64_t rejected_content = 77;

}  // namespace

std::vector<ContentRun> SlotPrompt::all() const {
  std::vector<ContentRun> runs = prompt;
  if (output.tokens > 0) runs.push_back(output);
  return runs;
}

SlotRun::SlotRun(const ForwardSetting& setting, const SlotSettings& settings, ForwardResult& result)
    : setting_(setting),
      result_(result),
      engine_(setting.plan, setting.network, setting.views, setting.backends, setting.fault, setting.layout_fault),
      replay_(settings),
      held_(static_cast<std::size_t>(settings.slots)) {
  const ArenaPlan& cells = setting.plan.arenas.front();
  const std::int64_t usable = cells.usable_ids();
  expects(settings.cells <= usable && settings.slots <= setting.plan.rows->sequences && !settings.saves_prompts(),
          "the plan has rows for all slots, and cells");
  expects(std::gcd(cell_stride, usable) == 1, "every cell comes once");
  // Drafts that will be rejected have cells too.
  for (std::int64_t i = 0; i < std::min(usable, settings.cells + drafts()); ++i)
    free_.push_back(static_cast<BlockId>(cells.first_id() + i * cell_stride % usable));
}

SlotRecord SlotRun::run(const SlotPrompt& request) {
  const std::vector<TokenRun> prompt = runs_of(request.prompt);
  TraceRequest asked;
  asked.index = std::ssize(records_);
  asked.input_length = prompt.back().end_token;
  contents_ = contents_of(request.all(), 0, 0);
  const std::vector<TokenRun> held = runs_of(request.all());
  const SlotRecord record = replay_.run(asked, prompt, {.held = held});
  ++result_.requests;
  if (record.status == RequestStatus::ok) {
    clear_emptied();
    go_back(record);
    compute_prompt(record);
    const bool fits = replay_.slots()[static_cast<std::size_t>(record.slot)].tokens() == held.back().end_token;
    expect(fits, fmt::format("what request {} generates did not fit", record.index));
    if (fits) decode(record);
  } else {
    expect(false, fmt::format("request {} did not fit", record.index));
  }
  records_.push_back(record);
  return record;
}

BlockId SlotRun::first_row(std::int64_t slot) const {
  return static_cast<BlockId>(setting_.plan.arenas[1].first_id() + slot * setting_.plan.rows->rows_per_sequence);
}

RequestBlocks SlotRun::blocks_of(std::int64_t slot) const {
  RequestBlocks blocks;
  blocks.attention.push_back(held_[static_cast<std::size_t>(slot)].table);
  StateTable& rows = blocks.states.emplace_back();
  rows.live = {{0, first_row(slot)}};
  for (std::int64_t i = 1; i <= drafts(); ++i) rows.spare.push_back(first_row(slot) + static_cast<BlockId>(i));
  return blocks;
}

void SlotRun::clear_emptied() {
  for (std::size_t slot = 0; slot < held_.size(); ++slot) {
    if (!replay_.slots()[slot].content.empty() || held_[slot].cells.empty()) continue;
    give_back(held_[slot], 0);
    held_[slot].checkpoints.clear();
    ++num_cleared_;
  }
}

void SlotRun::give_back(Held& held, std::int64_t from) {
  free_.insert(free_.end(), held.cells.begin() + from, held.cells.end());
  held.cells.resize(static_cast<std::size_t>(from));
  held.table.resize(static_cast<std::size_t>(from));
}

void SlotRun::take(Held& held, std::int64_t end) {
  const std::size_t first = held.cells.size();
  while (std::ssize(held.cells) < end) {
    expects(!free_.empty(), "slots are cleared until the cells suffice");
    const BlockId cell = free_.front();
    free_.pop_front();
    // Planted: what was taken for free before stands in the table already.
    for (std::size_t i = 0; i < held.table.size(); ++i)
      if (held.table[i] == cell) held.table[i] = held.cells[i];
    held.cells.push_back(cell);
    held.table.push_back(cell);
    result_.reused_blocks += !used_.insert(cell).second;
  }
  if (!planted(ForwardFault::foreign_cell) || first == held.cells.size()) return;
  for (const Held& other : held_)
    for (const BlockId cell : other.cells) {
      if (std::find(held.cells.begin(), held.cells.end(), cell) != held.cells.end() ||
          std::find(held.table.begin(), held.table.end(), cell) != held.table.end())
        continue;
      held.table[first] = cell;
      return;
    }
}

void SlotRun::go_back(const SlotRecord& record) {
  Held& held = held_by(record);
  // What is hit is where the slot ends, else a checkpoint.
  if (record.hit_tokens > 0 && std::ssize(held.cells) > record.hit_tokens) restore(record);
  if (record.hit_tokens == 0) held.accepted = held.right_accepted = 1;
  drop_checkpoints(record);
  give_back(held, record.hit_tokens);
}

void SlotRun::restore(const SlotRecord& record) {
  Held& held = held_by(record);
  ++num_restored_;
  auto found = held.checkpoints.find(record.hit_tokens);
  expects(found != held.checkpoints.end(), "a hit lies at a checkpoint");
  if (planted(ForwardFault::missed_restore)) {
    ++num_planted_;
    return;
  }
  if (planted(ForwardFault::older_checkpoint) && found != held.checkpoints.begin()) {
    --found;
    ++num_planted_;
  }
  const Checkpoint& checkpoint = found->second;
  const bool is_stale = planted(ForwardFault::stale_checkpoint) &&
                        !std::equal(checkpoint.contents.begin(), checkpoint.contents.end(), contents_.begin());
  num_planted_ += checkpoint.is_spoilt || is_stale;
  engine_.load_state_slot(checkpoint.states, first_row(record.slot));
  held.accepted = held.right_accepted = 1;
}

void SlotRun::drop_checkpoints(const SlotRecord& record) {
  if (planted(ForwardFault::stale_checkpoint)) return;
  const auto& kept = replay_.slots()[static_cast<std::size_t>(record.slot)].checkpoints;
  std::erase_if(held_by(record).checkpoints, [&](const auto& own) {
    return std::none_of(kept.begin(), kept.end(), [&](const SlotCheckpoint& checkpoint) {
      return checkpoint.tokens == own.first && checkpoint.request == own.second.request;
    });
  });
}

void SlotRun::make_checkpoint(const SlotRecord& record, std::int64_t tokens, bool is_spoilt) {
  Checkpoint made{.request = record.index,
                  .states = engine_.save_state_slot(first_row(record.slot)),
                  .contents = {contents_.begin(), contents_.begin() + tokens},
                  .is_spoilt = is_spoilt};
  const std::size_t bytes = std::accumulate(made.states.begin(), made.states.end(), std::size_t{0},
                                            [](std::size_t sum, const auto& state) { return sum + state.size(); });
  const std::int64_t planned = setting_.plan.rows->bytes.row_bytes;
  expect(static_cast<std::int64_t>(bytes) == planned,
         fmt::format("a checkpoint has {} bytes, the plan says {}", bytes, planned));
  auto& checkpoints = held_by(record).checkpoints;
  if (planted(ForwardFault::stale_checkpoint) && checkpoints.contains(tokens)) return;
  checkpoints[tokens] = std::move(made);
}

void SlotRun::settle(const SlotRecord& record) {
  Held& held = held_by(record);
  if (held.accepted == 1) return;
  const std::vector<std::vector<BlockId>> rows = draft_blocks(blocks_of(record.slot));
  engine_.move_accepted(rows, rows, held.accepted);
  held.accepted = held.right_accepted = 1;
}

void SlotRun::compute_prompt(const SlotRecord& record) {
  const std::int64_t end = record.input_length, from = record.hit_tokens;
  std::map<std::int64_t, std::int64_t> stops;  // after so many tokens: for how many the state is kept
  for (const SlotCheckpoint& checkpoint : replay_.slots()[static_cast<std::size_t>(record.slot)].checkpoints) {
    if (checkpoint.request != record.index) continue;
    const bool early = planted(ForwardFault::wrong_state_token) && checkpoint.tokens - 1 > from;
    stops[checkpoint.tokens - (early ? 1 : 0)] = checkpoint.tokens;
  }
  if (const auto first = stops.find(from); first != stops.end()) {
    num_planted_ += held_by(record).accepted != held_by(record).right_accepted;
    settle(record);
    make_checkpoint(record, from, false);
  }
  for (std::int64_t done = from; done < end;) {
    std::int64_t next = std::min(end, done + replay_.settings().step_tokens);
    if (const auto stop = stops.upper_bound(done); stop != stops.end()) next = std::min(next, stop->first);
    compute(record, {.tokens = next - done, .kept = next - done});
    ++num_steps_;
    if (const auto stop = stops.find(next); stop != stops.end())
      make_checkpoint(record, stop->second, stop->second != next);
    done = next;
  }
}

void SlotRun::decode(const SlotRecord& record) {
  const std::int64_t end = std::ssize(contents_);
  std::size_t step = 0;
  for (std::int64_t done = record.input_length; done < end;) {
    if (drafts() == 0) {
      compute(record, {.tokens = 1, .kept = 1, .is_decode = true});
      ++done;
      continue;
    }
    const std::int64_t kept = std::min({kept_of_step[step++ % kept_of_step.size()], 1 + drafts(), end - done});
    compute(record, {.tokens = 1 + drafts(), .kept = kept, .rows = true, .is_decode = true});
    result_.rejected += 1 + drafts() - kept;
    done += kept;
  }
}

void SlotRun::compute(const SlotRecord& record, const Step& step) {
  Held& held = held_by(record);
  const std::int64_t start = std::ssize(held.cells), end = start + step.tokens;
  take(held, end);
  const RequestBlocks blocks = blocks_of(record.slot);
  num_planted_ += held.accepted != held.right_accepted;
  if (!step.rows) settle(record);
  // Rejected: not what the sequence goes on with.
  std::vector<std::uint64_t> tokens(contents_.begin(), contents_.begin() + start + step.kept);
  tokens.resize(static_cast<std::size_t>(end), rejected_content);
  const ForwardChunk chunk{.contents = &tokens, .blocks = &blocks, .computed = start, .end = end,
                           .is_decode = step.is_decode, .holds_drafts = step.rows,
                           .accepted_tokens = held.accepted};
  if (planted(ForwardFault::foreign_cell)) note_foreign_cells(held, chunk);
  const std::vector<float> rows = std::move(engine_.run(std::span(&chunk, 1)).front());
  compare_rows(setting_, contents_, start, std::span(rows).first(step.kept * setting_.network.width), record.index,
               result_);
  held.accepted = held.right_accepted = step.rows ? step.kept : 1;
  if (planted(ForwardFault::wrong_accepted) && step.rows) held.accepted = std::min(step.kept + 1, step.tokens);
  give_back(held, start + step.kept);
}

void SlotRun::note_foreign_cells(const Held& held, const ForwardChunk& chunk) {
  bool reads_others = false;
  std::uint64_t chain = 0;
  for (std::int64_t position = 0; position < chunk.end; ++position) {
    chain = mix(chain, (*chunk.contents)[static_cast<std::size_t>(position)]);
    std::uint64_t& written = written_[held.table[static_cast<std::size_t>(position)]];
    if (position >= chunk.computed)
      written = chain;
    else
      reads_others = reads_others || written != chain;
  }
  num_planted_ += reads_others;
}

void SlotRun::count() {
  for (const SlotRecord& record : records_) result_.hit_tokens += record.hit_tokens;
  add_work(engine_.work(), result_);
  result_.planted += engine_.work().planted + num_planted_;
}

}  // namespace hybridkv
