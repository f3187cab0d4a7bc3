#include "audit/held_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

// Far beyond any sequence; a column behind it is damaged.
constexpr std::int64_t most_columns = std::int64_t{1} << 24;

/// The request gives back its hold; false where it has none.
bool let_go(OwnedCache& cache, OwnedBlock& block, std::int64_t request) {
  const auto hold = std::find(block.holders.begin(), block.holders.end(), request);
  if (hold == block.holders.end()) return false;
  block.holders.erase(hold);
  // From now on somebody who is not in a sampled recording may write there.
  if (block.holders.empty() && cache.recording.sampled)
    for (OwnedContent& content : block.ranks) content.is_known = false;
  return true;
}

void take(OwnedCache& cache, const TableEvent& event, std::int64_t number) {
  OwnedBlock& block = cache.block(event.group, number);
  note_change(cache, block, event.group, number, event.request);
  for (const std::int64_t holder : block.holders)
    cache.raise({.fault = OwnershipFault::taken_while_held,
                 .request = event.request,
                 .group = event.group,
                 .block = number,
                 .writer = holder});
  for (OwnedContent& content : block.ranks) clear(content);
  block.holders.push_back(event.request);
}

/// Gives back all that a request holds.
void give_back_all(OwnedCache& cache, OwningRequest& request) {
  for (std::size_t group = 0; group < request.tables.size(); ++group) {
    for (const std::int64_t number : request.tables[group])
      if (!cache.is_null(static_cast<std::int64_t>(group), number))
        let_go(cache, cache.block(static_cast<std::int64_t>(group), number), request.number);
    request.tables[group].clear();
    request.columns[group].clear();
  }
  request.has_run = false;
  request.computed = 0;
  request.last = {};
  cache.raised.erase(cache.raised.lower_bound({request.number, -1, OwnershipFault{}}),
                     cache.raised.lower_bound({request.number + 1, -1, OwnershipFault{}}));
}

}  // namespace

void apply(OwnedCache& cache, const RequestEvent& event) {
  if (cache.requests.contains(event.request))
    throw InputError(fmt::format("request {} comes in while it is in flight; a number never comes again",
                                 event.request));
  OwningRequest& request = cache.requests[event.request];
  request.number = event.request;
  request.keys = event.keys;
  request.tables.resize(cache.recording.groups.size());
  request.columns.resize(cache.recording.groups.size());
  ++cache.counts.requests;
}

void apply(OwnedCache& cache, const HitEvent& event) {
  cache.request(event.request);
  if (!event.groups.empty() && event.groups.size() != cache.recording.groups.size())
    throw InputError(fmt::format("\"groups\" has {} numbers, and the header {} groups", event.groups.size(),
                                 cache.recording.groups.size()));
  cache.counts.hits += event.tokens > 0 ? 1 : 0;
  cache.counts.hit_tokens += event.tokens;
  for (std::size_t group = 0; group < event.groups.size(); ++group) {
    // More K and V than are resumed from are no fault, but a state stands for one number of tokens.
    const std::int64_t found = event.groups[group];
    const bool is_state = cache.recording.groups[group].is_state();
    if (is_state ? found == event.tokens : found >= event.tokens) continue;
    cache.raise({.fault = OwnershipFault::hits_disagree,
                 .request = event.request,
                 .group = static_cast<std::int64_t>(group),
                 .expected = event.tokens,
                 .found = found});
  }
}

void apply(OwnedCache& cache, const TableEvent& event) {
  OwningRequest& request = cache.request(event.request);
  cache.group(event.group);
  if (event.first < 0 || event.first + std::ssize(event.blocks) > most_columns)
    throw InputError(fmt::format("columns {} to {} are in no table", event.first,
                                 event.first + std::ssize(event.blocks) - 1));
  std::vector<std::int64_t>& table = request.tables[static_cast<std::size_t>(event.group)];
  const std::int64_t none = cache.recording.arenas[static_cast<std::size_t>(cache.group(event.group).arena)].null_block;
  const std::int64_t size = cache.group(event.group).block_tokens;
  const auto end = static_cast<std::size_t>(event.first) + event.blocks.size();
  if (table.size() < end) table.resize(end, none);
  for (std::size_t i = 0; i < event.blocks.size(); ++i) {
    const std::int64_t number = event.blocks[i], column = event.first + static_cast<std::int64_t>(i);
    table[static_cast<std::size_t>(column)] = number;
    if (column * size < request.computed) request.replaced.emplace_back(event.group, column);
    if (cache.is_null(event.group, number)) continue;
    if (event.change == TableChange::taken)
      take(cache, event, number);
    else if (event.change == TableChange::found)
      cache.block(event.group, number).holders.push_back(event.request);
    else
      cache.block(event.group, number);
  }
}

void apply(OwnedCache& cache, const FreeEvent& event) {
  OwningRequest& request = cache.request(event.request);
  for (const std::int64_t number : event.blocks) {
    if (cache.is_null(event.group, number)) continue;
    if (!let_go(cache, cache.block(event.group, number), event.request))
      cache.raise({.fault = OwnershipFault::not_held,
                   .request = event.request,
                   .group = event.group,
                   .block = number});
    else if (!cache.group(event.group).is_state())
      request.doubtful.emplace_back(event.group, number);
  }
}

void apply(OwnedCache& cache, const EndEvent& event) {
  give_back_all(cache, cache.request(event.request));
  cache.requests.erase(event.request);
}

void apply(OwnedCache& cache, const PreemptEvent& event) { give_back_all(cache, cache.request(event.request)); }

}  // namespace hybridkv
