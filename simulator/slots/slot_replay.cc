#include "simulator/slots/slot_replay.h"

#include <algorithm>

#include "base/error.h"
#include "simulator/slots/prompt_steps.h"
#include "simulator/slots/slot_choice.h"

namespace hybridkv {

namespace {

/// The first tokens of a sequence.
std::vector<TokenRun> cut_runs(std::span<const TokenRun> content, std::int64_t tokens) {
  std::vector<TokenRun> kept(content.begin(), content.end());
  while (kept.size() > 1 && kept[kept.size() - 2].end_token >= tokens) kept.pop_back();
  kept.back().end_token = std::min(kept.back().end_token, tokens);
  return kept;
}

}  // namespace

SlotReplay::SlotReplay(const SlotSettings& settings) : settings_(settings), saved_(settings_, on_event) {
  settings.check();
  slots_.resize(static_cast<std::size_t>(settings.slots));
}

void SlotReplay::clear(std::size_t number) {
  tell(on_event, {.kind = SlotEventKind::clear, .slot = static_cast<std::int64_t>(number),
                  .tokens = slots_[number].tokens()});
  slots_[number].clear();
}

std::int64_t SlotReplay::cells_of_others(std::size_t number) const {
  if (!settings_.unified) return 0;
  std::int64_t cells = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) cells += i == number ? 0 : slots_[i].tokens();
  return cells;
}

void SlotReplay::swap_saved(std::size_t number, std::span<const TokenRun> prompt, SlotRecord& record) {
  ServerSlot& slot = slots_[number];
  record.prompts_saved += saved_.save(slot) ? 1 : 0;
  const std::int64_t own = settings_.unified ? settings_.cells : settings_.cells / settings_.slots;
  record.loaded_tokens = saved_.load(slot, record.slot, prompt, own - cells_of_others(number));
  if (record.loaded_tokens > 0) record.loaded_request = slot.request;
  saved_.trim();
}

void SlotReplay::save_idle(std::size_t running, SlotRecord& record) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i == running) continue;
    tell(on_event, {.kind = SlotEventKind::idle, .slot = static_cast<std::int64_t>(i)});
    const bool is_saved = saved_.save(slots_[i]);
    if (is_saved) saved_.trim();
    record.prompts_saved += is_saved ? 1 : 0;
    if (!settings_.unified) continue;
    if (!is_saved) record.checkpoints_dropped += std::ssize(slots_[i].checkpoints);
    clear(i);
  }
}

std::int64_t SlotReplay::resume(ServerSlot& slot, std::span<const TokenRun> prompt, std::int64_t common,
                                SlotRecord& record) {
  const ResumeAsked asked{record.input_length, common};
  std::int64_t from = common;
  if (needs_checkpoint(slot, asked, settings_.window_tokens)) {
    SlotCheckpoint* const restored = usable_checkpoint(slot.checkpoints, asked, settings_.window_tokens);
    from = restored ? std::min(restored->tokens, record.input_length - 1) : 0;
    if (restored) {
      tell(on_event, {.kind = SlotEventKind::restore, .tokens = restored->tokens,
                      .bytes = settings_.bytes.checkpoint(restored->tokens)});
      record.checkpoints_used += restored->used ? 0 : 1;
      record.restored_stale = restored->chain != chain_at(prompt, restored->tokens);
      restored->used = true;
    } else {
      tell(on_event, {.kind = SlotEventKind::reset});
    }
  }
  record.checkpoints_dropped += erase_behind(slot.checkpoints, settings_.keeps_one_past ? from : from - 1, on_event);
  return from;
}

void SlotReplay::take_cells(std::size_t number, std::int64_t start, std::int64_t end, SlotRecord& record) {
  for (std::size_t i = 0; settings_.unified && cells_of_others(number) + end > settings_.cells; ++i) {
    expects(i < slots_.size(), "one sequence alone finds cells");
    if (i == number || slots_[i].content.empty()) continue;
    tell(on_event, {.kind = SlotEventKind::purge, .slot = static_cast<std::int64_t>(i), .tokens = slots_[i].tokens()});
    record.checkpoints_dropped += std::ssize(slots_[i].checkpoints);
    clear(i);
    tell(on_event, {.kind = SlotEventKind::retry, .tokens = end - start});
  }
}

void SlotReplay::compute(std::size_t number, std::span<const TokenRun> prompt, const SlotOptions& options,
                         SlotRecord& record) {
  CheckpointList& made = slots_[number].checkpoints;
  const PromptSteps steps(settings_, record.input_length, options.message_starts);
  for (std::int64_t start = record.hit_tokens; start < record.input_length;) {
    const std::int64_t end = steps.end_of(start, made);
    tell(on_event, {.kind = SlotEventKind::chunk, .tokens = start});
    if (steps.is_kept(start, end, made)) {
      const SlotCheckpoint checkpoint{start, record.index, chain_at(prompt, start)};
      record.checkpoints_dropped += add_checkpoint(made, checkpoint, settings_, on_event, on_near);
      ++record.checkpoints_made;
    }
    take_cells(number, start, end, record);
    start = end;
  }
}

void SlotReplay::generate(std::size_t number, std::span<const TokenRun> held, SlotRecord& record) {
  // The context is full with the last token, which is never computed.
  const std::vector<TokenRun> content = cut_runs(held, settings_.context_of_slot() - 1);
  for (std::int64_t token = record.input_length; token < content.back().end_token; ++token)
    take_cells(number, token, token + 1, record);
  slots_[number].content = content;
}

SlotRecord SlotReplay::run(const TraceRequest& request, std::span<const TokenRun> prompt, const SlotOptions& options) {
  SlotRecord record{.index = request.index, .input_length = request.input_length};
  const SlotChoice choice = choose_slot(slots_, prompt, settings_, options.slot, on_event);
  ServerSlot& slot = slots_[choice.slot];
  record.slot = static_cast<std::int64_t>(choice.slot);
  if (settings_.saves_prompts() && choice.asks_saved) swap_saved(choice.slot, prompt, record);
  if (settings_.saves_prompts() && settings_.saves_idle) save_idle(choice.slot, record);
  slot.last_used = now_++;
  bool is_full = false;
  if (record.input_length >= settings_.context_of_slot()) {
    record.status = RequestStatus::refused;
    tell(on_event, {.kind = SlotEventKind::error});
  } else {
    const std::int64_t common = options.reuses ? common_tokens(slot.content, prompt) : 0;
    record.common_tokens = std::min(common, record.input_length - 1);
    record.hit_tokens = resume(slot, prompt, common, record);
    compute(choice.slot, prompt, options, record);
    generate(choice.slot, options.held.empty() ? prompt : options.held, record);
    slot.request = request.index;
    is_full = slot.tokens() + 1 >= settings_.context_of_slot();
  }
  tell(on_event, {.kind = SlotEventKind::end, .slot = record.slot, .tokens = slot.tokens(), .number = is_full});
  return record;
}

}  // namespace hybridkv
