#include "audit/owned_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

const RecordedGroup& OwnedCache::group(std::int64_t number) const {
  if (number < 0 || number >= std::ssize(recording.groups))
    throw InputError(fmt::format("group {} is none of the {} of the header", number, recording.groups.size()));
  return recording.groups[static_cast<std::size_t>(number)];
}

OwningRequest& OwnedCache::request(std::int64_t number) {
  const auto found = requests.find(number);
  if (found == requests.end())
    throw InputError(fmt::format("request {} is not in flight; a line {{\"event\":\"request\",\"request\":{},…}} comes "
                                 "before all others of a request, and {{\"event\":\"end\"}} is the last", number,
                                 number));
  return found->second;
}

OwnedBlock& OwnedCache::block(std::int64_t group, std::int64_t number) {
  const std::int64_t arena = this->group(group).arena;
  const std::int64_t most = recording.arenas[static_cast<std::size_t>(arena)].blocks;
  if (number < 0 || number >= most)
    throw InputError(fmt::format("block {} is none of the {} of arena {}", number, most, arena));
  OwnedBlock& block = blocks[static_cast<std::size_t>(arena)][number];
  if (block.ranks.empty()) {
    block.ranks.resize(static_cast<std::size_t>(recording.ranks));
    for (OwnedContent& content : block.ranks) content.is_known = recording.is_whole();
  }
  return block;
}

void OwnedCache::require_rank(std::int64_t rank) const {
  if (rank < 0 || rank >= recording.ranks)
    throw InputError(fmt::format("rank {} is none of the {} of the header", rank, recording.ranks));
}

std::uint64_t OwnedCache::key_at(const OwningRequest& request, std::int64_t tokens) const {
  if (tokens <= 0 || tokens % unit() != 0 || tokens / unit() > std::ssize(request.keys)) return 0;
  return request.keys[static_cast<std::size_t>(tokens / unit() - 1)];
}

void OwnedCache::raise(OwnershipFinding finding) {
  if (finding.request >= 0 && !raised.insert({finding.request, finding.group, finding.fault}).second) return;
  finding.line = line;
  finding.step = step;
  on_finding(finding);
}

void clear(OwnedContent& content) {
  for (const OwnedUnit& unit : content.units)
    if (unit.step >= content.old_step && unit.writer >= 0) {
      content.old_writer = unit.writer;
      content.old_step = unit.step;
    }
  if (content.state.writer >= 0) {
    content.old_writer = content.state.writer;
    content.old_step = content.state.step;
  }
  content.is_known = true;
  content.group = -1;
  content.units.clear();
  content.state = {};
  content.object.clear();
}

void note_change(OwnedCache& cache, OwnedBlock& block, std::int64_t group, std::int64_t number, std::int64_t request) {
  // Whoever has ended holds nothing, even where a table had lost the block before.
  std::erase_if(block.holders, [&](std::int64_t holder) { return !cache.requests.contains(holder); });
  for (const std::int64_t holder : block.holders)
    if (holder != request) cache.request(holder).doubtful.emplace_back(group, number);
  for (const std::string& object : block.storing)
    cache.raise({.fault = OwnershipFault::changed_while_stored,
                 .request = request,
                 .group = group,
                 .block = number,
                 .object = object});
  block.storing.clear();
}

}  // namespace hybridkv
