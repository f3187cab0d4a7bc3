#include "audit/owned_rows.h"

#include <algorithm>

namespace hybridkv {

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// A block of the table, or -1 where it has none in that column.
std::int64_t row_block(const OwnedCache& cache, const OwningRequest& request, std::int64_t group, std::int64_t column) {
  const std::vector<std::int64_t>& table = request.tables[at(group)];
  if (column >= std::ssize(table) || cache.is_null(group, table[at(column)])) return -1;
  return table[at(column)];
}

/// Tokens [first, end) of a unit that begins at `position`, as far as they are among [begin, stop).
struct UnitPart {
  std::int64_t position;
  std::int32_t from;
  std::int32_t to;
};

template <class Visit>
void for_each_unit(std::int64_t unit, std::int64_t begin, std::int64_t stop, Visit&& visit) {
  for (std::int64_t position = begin / unit * unit; position < stop; position += unit)
    if (!visit(UnitPart{position, static_cast<std::int32_t>(std::max(begin - position, std::int64_t{0})),
                        static_cast<std::int32_t>(std::min(stop - position, unit))}))
      return;
}

OwnedUnit& unit_in(OwnedContent& content, const RecordedGroup& group, std::int64_t unit_tokens, std::int64_t position) {
  if (content.units.empty()) content.units.resize(at(group.block_tokens / unit_tokens));
  return content.units[at(position % group.block_tokens / unit_tokens)];
}

/// Writes a part of a unit; true where what stood there is no longer there.
bool write_unit(const OwnedCache& cache, const OwningRequest& request, OwnedUnit& unit, const UnitPart& part) {
  const bool goes_on = unit.position == part.position && unit.from <= part.from && part.from <= unit.to;
  const bool changes = unit.position >= 0 && !(goes_on && part.from == unit.to);
  unit = {.key = cache.key_at(request, part.position + cache.unit()),
          .writer = request.number,
          .step = cache.step,
          .position = part.position,
          .from = goes_on ? unit.from : part.from,
          .to = part.to,
          .is_rejected = unit.is_rejected && unit.position == part.position && !goes_on};
  return changes;
}

/// What is wrong with a part of a unit for a request that reads it; false where nothing is.
bool wrong_unit(OwnedCache& cache, const OwningRequest& request, std::int64_t group, OwnedContent& content,
                const UnitPart& part, OwnershipFinding& finding) {
  if (!content.is_known && !cache.recording.is_whole()) {
    ++cache.counts.unknown;
    return false;
  }
  ++cache.counts.checked_units;
  finding.writer = content.old_writer;
  finding.writer_step = content.old_step;
  finding.object = content.object;
  finding.first_token = part.position + part.from;
  finding.end_token = part.position + part.to;
  finding.fault = OwnershipFault::not_written;
  if (content.group < 0) return true;
  if (content.group != group) {
    finding.fault = OwnershipFault::other_group;
    finding.expected = group;
    finding.found = content.group;
    return true;
  }
  const OwnedUnit& unit = unit_in(content, cache.group(group), cache.unit(), part.position);
  if (unit.position < 0) return true;
  finding.writer = unit.writer;
  finding.writer_step = unit.step;
  const bool was_right = request.has_run && part.position < request.computed;
  if (unit.position != part.position && !(was_right && unit.writer != request.number)) {
    finding.fault = OwnershipFault::other_position;
    finding.expected = part.position;
    finding.found = unit.position;
    return true;
  }
  const bool is_own = unit.position == part.position &&
                      (unit.writer == request.number ||
                       (unit.key != 0 && unit.key == cache.key_at(request, part.position + cache.unit())));
  if (!is_own) {
    finding.fault = was_right ? OwnershipFault::overwritten : OwnershipFault::other_prefix;
    return true;
  }
  if (unit.from <= part.from && part.to <= unit.to) return false;
  if (unit.from <= part.from) finding.first_token = part.position + std::max(part.from, unit.to);
  if (unit.is_rejected) finding.fault = OwnershipFault::rejected_draft;
  return true;
}

/// Checks tokens [begin, end) and raises the first that is wrong.
void check_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t begin, std::int64_t end) {
  const std::int64_t block_tokens = cache.group(group).block_tokens;
  for_each_unit(cache.unit(), begin, end, [&](const UnitPart& part) {
    OwnershipFinding finding{.request = request.number, .group = group};
    const std::int64_t number = row_block(cache, request, group, part.position / block_tokens);
    finding.block = number;
    finding.first_token = part.position + part.from;
    finding.end_token = part.position + part.to;
    if (number < 0) {
      finding.fault = OwnershipFault::no_block;
      cache.raise(finding);
      return false;
    }
    OwnedBlock& block = cache.block(group, number);
    if (std::find(block.holders.begin(), block.holders.end(), request.number) == block.holders.end()) {
      finding.fault = OwnershipFault::freed;
      cache.raise(finding);
      return false;
    }
    for (std::int64_t rank = 0; rank < cache.recording.ranks; ++rank) {
      finding.rank = rank;
      if (!wrong_unit(cache, request, group, block.ranks[at(rank)], part, finding)) continue;
      cache.raise(finding);
      return false;
    }
    return true;
  });
}

/// Calls visit(unit, part) for the parts of tokens [begin, end) that the request wrote itself, on all ranks, up to
/// where its table ends.
template <class Visit>
void for_own_units(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t begin, std::int64_t end,
                   Visit&& visit) {
  const RecordedGroup& of = cache.group(group);
  for_each_unit(cache.unit(), begin, end, [&](const UnitPart& part) {
    const std::int64_t number = row_block(cache, request, group, part.position / of.block_tokens);
    if (number < 0) return false;
    for (OwnedContent& content : cache.block(group, number).ranks) {
      if (content.group != group) continue;
      OwnedUnit& unit = unit_in(content, of, cache.unit(), part.position);
      if (unit.position == part.position && unit.writer == request.number) visit(unit, part);
    }
    return true;
  });
}

}  // namespace

void write_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, const RecordedRun& run) {
  const RecordedGroup& of = cache.group(group);
  for_each_unit(cache.unit(), run.start, run.start + run.tokens, [&](const UnitPart& part) {
    const std::int64_t number = row_block(cache, request, group, part.position / of.block_tokens);
    if (number < 0) {
      cache.raise({.fault = OwnershipFault::no_block,
                   .request = request.number,
                   .group = group,
                   .first_token = part.position + part.from,
                   .end_token = part.position + part.to});
      return false;
    }
    OwnedBlock& block = cache.block(group, number);
    bool changes = false;
    for (OwnedContent& content : block.ranks) {
      if (content.group >= 0 && content.group != group) {
        clear(content);
        changes = true;
      }
      content.is_known = true;
      content.group = group;
      changes = write_unit(cache, request, unit_in(content, of, cache.unit(), part.position), part) || changes;
    }
    if (changes) note_change(cache, block, group, number, request.number);
    return true;
  });
}

void read_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, const RecordedRun& run) {
  const RecordedGroup& of = cache.group(group);
  const std::int64_t first = of.first_visible(run.start);
  check_rows(cache, request, group, request.has_run ? std::max(first, request.computed) : first, run.start);
  if (!request.has_run) return;
  const auto check_column = [&](std::int64_t column) {
    const std::int64_t begin = column * of.block_tokens;
    check_rows(cache, request, group, std::max(begin, first), std::min(begin + of.block_tokens, run.start));
  };
  for (const auto& [changed_in, column] : request.replaced)
    if (changed_in == group) check_column(column);
  for (const auto& [changed_in, number] : request.doubtful) {
    if (changed_in != group) continue;
    const std::vector<std::int64_t>& table = request.tables[at(group)];
    for (auto place = std::find(table.begin(), table.end(), number); place != table.end();
         place = std::find(place + 1, table.end(), number))
      check_column(place - table.begin());
  }
}

void reject_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t end) {
  for_own_units(cache, request, group, end, request.last.start + request.last.tokens,
                [](OwnedUnit& unit, const UnitPart& part) {
                  unit.to = std::min(unit.to, part.from);
                  unit.is_rejected = true;
                });
}

void name_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t unit) {
  const std::int64_t end = (unit + 1) * cache.unit();
  for_own_units(cache, request, group, end - cache.unit(), end,
                [&](OwnedUnit& of, const UnitPart&) { of.key = cache.key_at(request, end); });
}

void cut_rows(OwnedContent& content, std::int64_t unit_tokens, std::int64_t tokens) {
  for (std::int64_t i = 0; i < std::ssize(content.units); ++i) {
    OwnedUnit& unit = content.units[at(i)];
    unit.to = static_cast<std::int32_t>(std::clamp<std::int64_t>(tokens - i * unit_tokens, 0, unit.to));
  }
}

}  // namespace hybridkv
