#include "audit/owned_states.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

std::int64_t block_in(const OwnedCache& cache, const OwningRequest& request, std::int64_t group, std::int64_t column) {
  const std::vector<std::int64_t>& table = request.tables[static_cast<std::size_t>(group)];
  if (column < 0 || column >= std::ssize(table)) return -1;
  const std::int64_t number = table[static_cast<std::size_t>(column)];
  return cache.is_null(group, number) ? -1 : number;
}

/// The columns that a run leaves states in, with the tokens behind which they stand.
std::vector<RecordedStateWrite> written_columns(const RecordedGroup& group, const RecordedRun& run) {
  const std::int64_t stop = run.start + run.tokens, end = stop - run.drafts, size = group.block_tokens;
  const std::int64_t running = group.states == RecordedStates::running ? 0 : ceil_div(stop, size) - 1;
  std::vector<RecordedStateWrite> columns;
  if (group.states == RecordedStates::all)
    for (std::int64_t at = (run.start / size + 1) * size; at < end; at += size) columns.push_back({at / size - 1, at});
  if (run.exported > 0) columns.push_back({running - 1, run.exported});
  for (std::int64_t draft = 0; draft <= run.drafts; ++draft) columns.push_back({running + draft, end + draft});
  return columns;
}

/// The column with the state behind `tokens` tokens: where the last run left it, else where such a state belongs.
std::int64_t column_of(const RecordedGroup& of, const OwningRequest& request, std::int64_t group, std::int64_t tokens) {
  const std::vector<RecordedStateWrite>& columns = request.columns[static_cast<std::size_t>(group)];
  const auto left = std::find_if(columns.rbegin(), columns.rend(),
                                 [&](const RecordedStateWrite& one) { return one.tokens == tokens; });
  if (left != columns.rend()) return left->block;
  return of.states == RecordedStates::running ? 0 : ceil_div(tokens, of.block_tokens) - 1;
}

/// What is wrong with a state for a request that goes on behind `tokens` tokens; false where nothing is.
bool wrong_state(OwnedCache& cache, const OwningRequest& request, std::int64_t group, const OwnedContent& content,
                 std::int64_t tokens, OwnershipFinding& finding) {
  if (!content.is_known && !cache.recording.is_whole()) {
    ++cache.counts.unknown;
    return false;
  }
  ++cache.counts.checked_states;
  const OwnedState& state = content.state;
  finding.object = content.object;
  finding.writer = state.tokens < 0 ? content.old_writer : state.writer;
  finding.writer_step = state.tokens < 0 ? content.old_step : state.step;
  finding.fault = OwnershipFault::not_written;
  if (content.group >= 0 && content.group != group) {
    finding.fault = OwnershipFault::other_group;
    finding.expected = group;
    finding.found = content.group;
    return true;
  }
  if (state.tokens < 0) return true;
  const bool is_own = state.writer == request.number ||
                      (state.key != 0 && state.key == cache.key_at(request, state.tokens));
  if (state.is_rejected && is_own) {
    finding.fault = OwnershipFault::rejected_draft;
    return true;
  }
  // Whose state it is nobody can say where it stands at no key, but where it stands is wrong in any case.
  const bool is_unnamed = state.key == 0 && state.tokens != tokens && !request.has_run;
  if (!is_own && !is_unnamed) {
    finding.fault = request.has_run ? OwnershipFault::overwritten : OwnershipFault::other_prefix;
    return true;
  }
  if (state.tokens == tokens) return false;
  finding.fault = OwnershipFault::other_position;
  finding.expected = tokens;
  finding.found = state.tokens;
  return true;
}

}  // namespace

RecordedStateUse states_of(const OwnedCache& cache, const OwningRequest& request, std::int64_t group,
                           const RecordedRun& run) {
  for (const RecordedStateUse& said : run.states)
    if (said.group == group) return said;
  const RecordedGroup& of = cache.group(group);
  RecordedStateUse use{.group = group};
  if (run.start > 0) use.from = block_in(cache, request, group, column_of(of, request, group, run.start));
  for (const RecordedStateWrite& column : written_columns(of, run))
    use.to.push_back({block_in(cache, request, group, column.block), column.tokens});
  return use;
}

void read_state(OwnedCache& cache, OwningRequest& request, const RecordedStateUse& use, const RecordedRun& run) {
  if (run.start == 0) return;
  OwnershipFinding finding{.request = request.number,
                           .group = use.group,
                           .block = use.from,
                           .first_token = run.start,
                           .end_token = run.start};
  if (use.from < 0 || cache.is_null(use.group, use.from)) {
    finding.fault = OwnershipFault::no_block;
    return cache.raise(finding);
  }
  OwnedBlock& block = cache.block(use.group, use.from);
  if (std::find(block.holders.begin(), block.holders.end(), request.number) == block.holders.end()) {
    finding.fault = OwnershipFault::freed;
    return cache.raise(finding);
  }
  for (std::int64_t rank = 0; rank < cache.recording.ranks; ++rank) {
    finding.rank = rank;
    if (wrong_state(cache, request, use.group, block.ranks[static_cast<std::size_t>(rank)], run.start, finding))
      return cache.raise(finding);
  }
}

void write_states(OwnedCache& cache, OwningRequest& request, const RecordedStateUse& use, const RecordedRun& run) {
  request.columns[static_cast<std::size_t>(use.group)] = written_columns(cache.group(use.group), run);
  const std::int64_t end = run.start + run.tokens - run.drafts;
  for (const auto& [number, tokens] : use.to) {
    if (number < 0 || cache.is_null(use.group, number)) {
      // Of drafts beyond the columns that a request has no state is kept.
      if (tokens > end) continue;
      cache.raise({.fault = OwnershipFault::no_block,
                   .request = request.number,
                   .group = use.group,
                   .first_token = tokens,
                   .end_token = tokens});
      continue;
    }
    OwnedBlock& block = cache.block(use.group, number);
    bool changes = false;
    for (OwnedContent& content : block.ranks) {
      changes = changes || content.group >= 0;
      if (content.group != use.group) clear(content);
      content.is_known = true;
      content.group = use.group;
      content.object.clear();
      content.state = {.tokens = tokens,
                       .key = cache.key_at(request, tokens),
                       .writer = request.number,
                       .step = cache.step,
                       .is_rejected = false};
    }
    if (changes) note_change(cache, block, use.group, number, request.number);
  }
}

void reject_states(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t end) {
  for (const RecordedStateWrite& write : states_of(cache, request, group, request.last).to) {
    if (write.tokens <= end || write.block < 0 || cache.is_null(group, write.block)) continue;
    for (OwnedContent& content : cache.block(group, write.block).ranks)
      if (content.state.writer == request.number && content.state.tokens == write.tokens)
        content.state.is_rejected = true;
  }
}

void name_states(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t tokens) {
  const auto name = [&](std::int64_t column) {
    const std::int64_t number = block_in(cache, request, group, column);
    if (number < 0) return;
    for (OwnedContent& content : cache.block(group, number).ranks)
      if (content.state.writer == request.number && content.state.tokens == tokens)
        content.state.key = cache.key_at(request, tokens);
  };
  const RecordedGroup& of = cache.group(group);
  if (of.states == RecordedStates::running) {
    // Beside the running state a table has those that a run kept, wherever it was told to.
    for (std::int64_t column = 0; column < std::ssize(request.tables[static_cast<std::size_t>(group)]); ++column)
      name(column);
    return;
  }
  name(ceil_div(tokens, of.block_tokens) - 1);
  for (const RecordedStateWrite& column : request.columns[static_cast<std::size_t>(group)]) name(column.block);
}

}  // namespace hybridkv
