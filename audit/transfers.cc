#include "audit/transfers.h"

#include <algorithm>

#include "audit/owned_rows.h"
#include "base/checked.h"

namespace hybridkv {

namespace {

OwnedContent& content_of(OwnedCache& cache, std::int64_t group, std::int64_t block, std::int64_t rank) {
  cache.require_rank(rank);
  return cache.block(group, block).ranks[static_cast<std::size_t>(rank)];
}

/// The finding of a transfer, to be filled in.
template <class Transfer>
OwnershipFinding finding_of(const Transfer& event, OwnershipFault fault) {
  return {.fault = fault,
          .request = event.request,
          .group = event.group,
          .rank = event.rank,
          .block = event.block,
          .object = event.object};
}

template <class Transfer>
void check_size(OwnedCache& cache, const Transfer& event) {
  const std::int64_t wanted = cache.group(event.group).block_bytes;
  if (wanted == 0 || event.bytes == wanted) return;
  OwnershipFinding finding = finding_of(event, OwnershipFault::object_size);
  finding.expected = wanted;
  finding.found = event.bytes;
  cache.raise(finding);
}

}  // namespace

void apply(OwnedCache& cache, const CopyEvent& event) {
  OwnedBlock& from = cache.block(event.group, event.from);
  OwnedBlock& to = cache.block(event.group, event.to);
  if (&from == &to) return;
  note_change(cache, to, event.group, event.to, event.request);
  to.ranks = from.ranks;
}

void apply(OwnedCache& cache, const ZeroEvent& event) {
  for (const std::int64_t number : event.blocks) {
    OwnedBlock& block = cache.block(event.group, number);
    note_change(cache, block, event.group, number, -1);
    for (OwnedContent& content : block.ranks) clear(content);
  }
}

void apply(OwnedCache& cache, const StoreEvent& event) {
  ++cache.counts.stores;
  const OwnedContent& content = content_of(cache, event.group, event.block, event.rank);
  check_size(cache, event);
  const std::string& dtype = cache.group(event.group).dtype;
  if (!event.dtype.empty() && !dtype.empty() && event.dtype != dtype) {
    OwnershipFinding finding = finding_of(event, OwnershipFault::other_dtype);
    finding.dtype = event.dtype;
    cache.raise(finding);
  }
  cache.objects[event.object] = {event.rank, event.group, event.block, event.bytes, content};
  if (event.is_begun) cache.block(event.group, event.block).storing.push_back(event.object);
}

void apply(OwnedCache& cache, const StoredEvent& event) {
  const auto stored = cache.objects.find(event.object);
  if (stored == cache.objects.end()) return;  // before the recording began
  std::erase(cache.block(stored->second.group, stored->second.block).storing, event.object);
}

void apply(OwnedCache& cache, const LoadEvent& event) {
  ++cache.counts.loads;
  OwnedContent& content = content_of(cache, event.group, event.block, event.rank);
  OwnedBlock& block = cache.block(event.group, event.block);
  note_change(cache, block, event.group, event.block, event.request);
  const auto found = cache.objects.find(event.object);
  if (found == cache.objects.end()) {
    clear(content);
    content.is_known = cache.recording.is_whole();
    content.object = event.object;
    if (content.is_known) cache.raise(finding_of(event, OwnershipFault::object_unknown));
    return;
  }
  const OwnedObject& object = found->second;
  if (event.bytes != object.bytes || object.bytes == cache.group(event.group).block_bytes) check_size(cache, event);
  const auto disagree = [&](OwnershipFault fault, std::int64_t expected, std::int64_t is) {
    if (expected == is) return;
    OwnershipFinding finding = finding_of(event, fault);
    finding.writer = object.content.state.writer;
    finding.expected = expected;
    finding.found = is;
    cache.raise(finding);
  };
  disagree(OwnershipFault::other_rank, event.rank, object.rank);
  disagree(OwnershipFault::other_group, event.group, object.group);
  content = object.content;
  content.object = event.object;
  // Objects of a sampled recording may have been written again by requests that are not in it.
  if (cache.recording.sampled) content.is_known = false;
  if (event.tokens >= 0) cut_rows(content, cache.unit(), event.tokens);
}

void apply(OwnedCache& cache, const DropEvent& event) { cache.objects.erase(event.object); }

void apply(OwnedCache& cache, const RegionEvent& event) {
  cache.require_rank(event.rank);
  const RecordedGroup& group = cache.group(event.group);
  if (group.block_bytes == 0) return;
  const std::int64_t blocks = cache.recording.arenas[static_cast<std::size_t>(group.arena)].blocks;
  const std::int64_t wanted = Checked(blocks) * group.block_bytes;
  if (event.bytes == wanted) return;
  cache.raise({.fault = OwnershipFault::region_size,
               .group = event.group,
               .rank = event.rank,
               .expected = wanted,
               .found = event.bytes});
}

}  // namespace hybridkv
