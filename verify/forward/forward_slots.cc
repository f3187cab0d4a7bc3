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

/// The server of a run: it restores no checkpoint of other tokens unless that is planted.
SlotSettings server_of(const SlotSettings& settings, const ForwardSetting& setting) {
  SlotSettings server = settings;
  server.keeps_one_past = setting.fault == ForwardFault::restored_stale_checkpoint;
  return server;
}

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
      replay_(server_of(settings, setting)),
      held_(static_cast<std::size_t>(settings.slots)) {
  const ArenaPlan& cells = setting.plan.arenas.front();
  const std::int64_t usable = cells.usable_ids();
  expects(settings.cells <= usable && settings.slots <= setting.plan.rows->sequences,
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
    follow_host(record);
    clear_emptied();
    go_back(record);
    compute_prompt(record);
    const bool fits = replay_.slots()[static_cast<std::size_t>(record.slot)].tokens() == held.back().end_token;
    expect(fits, fmt::format("what request {} generates did not fit", record.index));
    if (fits) decode(record);
    held_by(record).request = record.index;
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

void SlotRun::follow_host(const SlotRecord& record) {
  const std::list<SavedSequence>& entries = replay_.saved().entries();
  for (const SavedSequence& entry : entries)
    if (!saved_.contains(entry.request)) save(entry.request);
  if (record.loaded_tokens > 0) load(record);
  std::erase_if(saved_, [&](const auto& own) {
    return std::none_of(entries.begin(), entries.end(),
                        [&](const SavedSequence& entry) { return entry.request == own.first; });
  });
}

void SlotRun::save(std::int64_t request) {
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& one) {
    return one.request == request && !one.cells.empty();
  });
  expects(held != held_.end(), "what is saved was in a slot");
  const std::int64_t slot = held - held_.begin();
  Saved& saved = saved_[request];
  saved.is_spoilt = held->accepted != held->right_accepted;
  settle(slot);
  saved.states = engine_.save_state_slot(first_row(slot));
  saved.cells = engine_.save_cells(held->table);
  for (const BlockId cell : held->table) saved.written.push_back(written_[cell]);
  saved.checkpoints = held->checkpoints;
  const SequenceBytes& bytes = setting_.plan.rows->bytes;
  const std::int64_t planned =
      std::ssize(held->cells) * (bytes.tokens.per_token + (bytes.draft ? bytes.draft->per_token : 0));
  expect(std::ssize(saved.cells) == planned,
         fmt::format("K and V of a saved prompt have {} bytes, the plan says {}", saved.cells.size(), planned));
}

void SlotRun::load(const SlotRecord& record) {
  ++num_loaded_;
  const Saved& saved = saved_.at(record.loaded_request);
  Held& held = held_by(record);
  give_back(held, 0);
  take(held, record.loaded_tokens);
  engine_.load_cells(saved.cells, held.table);
  for (std::size_t i = 0; i < held.table.size(); ++i) written_[held.table[i]] = saved.written[i];
  held.accepted = held.right_accepted = 1;
  held.checkpoints = saved.checkpoints;
  const bool is_lost = planted(ForwardFault::lost_saved_state), ends_there = record.hit_tokens == record.loaded_tokens;
  num_planted_ += ends_there && (is_lost || saved.is_spoilt);
  if (!is_lost) engine_.load_state_slot(saved.states, first_row(record.slot));
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
  const Checkpoint* const foreign =
      planted(ForwardFault::state_of_another_checkpoint) ? foreign_checkpoint(record, checkpoint) : nullptr;
  const bool is_stale = planted(ForwardFault::stale_checkpoint) &&
                        !std::equal(checkpoint.contents.begin(), checkpoint.contents.end(), contents_.begin());
  num_planted_ += checkpoint.is_spoilt || is_stale || foreign || record.restored_stale;
  engine_.load_state_slot(foreign ? foreign->states : checkpoint.states, first_row(record.slot));
  held.accepted = held.right_accepted = 1;
}

const SlotRun::Checkpoint* SlotRun::foreign_checkpoint(const SlotRecord& record, const Checkpoint& own) const {
  const auto other_in = [&](const std::map<std::int64_t, Checkpoint>& checkpoints) -> const Checkpoint* {
    for (const auto& [tokens, checkpoint] : checkpoints)
      if (checkpoint.contents.back() != own.contents.back()) return &checkpoint;
    return nullptr;
  };
  for (const auto& [request, saved] : saved_)
    if (const Checkpoint* const other = other_in(saved.checkpoints)) return other;
  for (std::size_t slot = 0; slot < held_.size(); ++slot) {
    if (static_cast<std::int64_t>(slot) == record.slot) continue;
    if (const Checkpoint* const other = other_in(held_[slot].checkpoints)) return other;
  }
  return nullptr;
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

void SlotRun::settle(std::int64_t slot) {
  Held& held = held_[static_cast<std::size_t>(slot)];
  if (held.accepted == 1) return;
  const std::vector<std::vector<BlockId>> rows = draft_blocks(blocks_of(slot));
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
    settle(record.slot);
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
  DraftRows rows{.rows = drafts()};
  for (std::int64_t done = record.input_length; done < end;) {
    if (drafts() == 0) {
      compute(record, {.tokens = 1, .kept = 1, .is_decode = true});
      ++done;
      continue;
    }
    const std::int64_t kept = std::min({kept_of_step[step++ % kept_of_step.size()], 1 + drafts(), end - done});
    compute(record, {.tokens = 1 + drafts(), .kept = kept, .rows = true, .is_decode = true});
    const std::int64_t rejected = 1 + drafts() - kept;
    rows.step(1 + drafts());
    expects(rejected == 0 || (rows.is_right(rejected) && rows.take_back(rejected)), "rows take back what is rejected");
    result_.rejected += rejected;
    done += kept;
  }
}

void SlotRun::compute(const SlotRecord& record, const Step& step) {
  Held& held = held_by(record);
  const std::int64_t start = std::ssize(held.cells), end = start + step.tokens;
  take(held, end);
  const RequestBlocks blocks = blocks_of(record.slot);
  num_planted_ += held.accepted != held.right_accepted;
  if (!step.rows) settle(record.slot);
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
