#include "verify/transfer/transfer_pages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/parallel.h"
#include "base/pool.h"
#include "transfer/request_tables.h"
#include "verify/layout/canary.h"

namespace hybridkv {

namespace {

/// Far behind every pool, so that the canaries of the two sides differ.
constexpr std::int64_t side_distance = std::int64_t(1) << 50;

constexpr std::int64_t piece_bytes = std::int64_t(1) << 20;
constexpr std::size_t pieces_together = 64;  ///< so that many small ones are no work of their own

std::int64_t canary_place(CanarySide side, std::int64_t offset) {
  return side == CanarySide::from ? offset + side_distance : offset;
}

/// The ranges as whole memory pages, as far as these belong to the pool.
std::vector<ByteRange> in_memory_pages(const std::vector<ByteRange>& ranges, std::int64_t pool_bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE), front = Pool::bytes_in_front(pool_bytes);
  std::vector<ByteRange> whole;
  for (const ByteRange& range : ranges)
    whole.push_back({std::max<std::int64_t>(0, (range.first + front) / page * page - front),
                     std::min(pool_bytes, round_up(range.end + front, page) - front)});
  return joined_ranges(std::move(whole));
}

/// Neighbours of held ids first, then from the highest down.
std::vector<std::int64_t> choose_free(const ArenaPlan& arena, const std::set<std::int64_t>& held, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  const auto take = [&](std::int64_t id) {
    const bool is_free = id >= arena.first_id() && id < arena.num_ids && !held.contains(id);
    if (is_free && std::find(chosen.begin(), chosen.end(), id) == chosen.end()) chosen.push_back(id);
    return std::ssize(chosen) >= count;
  };
  if (count <= 0) return chosen;
  for (const std::int64_t id : held)
    if (take(id + 1) || take(id - 1)) return chosen;
  for (std::int64_t id = arena.num_ids - 1; id >= arena.first_id(); --id)
    if (take(id)) return chosen;
  return chosen;
}

struct PoolPiece {
  std::int64_t pool = 0, first = 0, bytes = 0;
};

std::vector<PoolPiece> pieces_of(const HeldPages& pages) {
  std::vector<PoolPiece> pieces;
  for (std::size_t pool = 0; pool < pages.pools.size(); ++pool)
    for (const ByteRange& range : pages.pools[pool])
      for (std::int64_t first = range.first; first < range.end; first += piece_bytes)
        pieces.push_back({static_cast<std::int64_t>(pool), first, std::min(piece_bytes, range.end - first)});
  return pieces;
}

/// Calls body(piece, batch) for all pieces on all cores, those of a batch in their order on one.
template <class Body>
void for_each_piece(const std::vector<PoolPiece>& pieces, std::size_t together, Body&& body) {
  parallel_for((pieces.size() + together - 1) / together, [&](std::size_t batch) {
    for (std::size_t i = batch * together; i < std::min(pieces.size(), (batch + 1) * together); ++i)
      body(pieces[i], batch);
  });
}

/// What of a plan a byte belongs to: "id 12 of blocks".
std::string owner_text(const CachePlan& plan, std::int64_t pool, std::int64_t byte) {
  for (const LanePlan& lane : plan.lanes) {
    if (lane.pool.value != pool || byte < lane.offset) continue;
    const std::int64_t id = (byte - lane.offset) / lane.stride;
    const ArenaPlan& arena = plan.arenas[lane.arena.index()];
    if (id < arena.num_ids && byte < lane.begin(id) + lane.bytes)
      return fmt::format("byte {} of the page of id {} of {}", byte - lane.begin(id), id, arena.name);
  }
  return "a byte of no page";
}

}  // namespace

std::vector<ByteRange> joined_ranges(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges) {
    if (range.first >= range.end) continue;
    if (!joined.empty() && range.first <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  return joined;
}

std::int64_t HeldPages::bytes() const {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  Checked bytes = 0;
  for (const auto& ranges : pools)
    for (const ByteRange& range : ranges) bytes += round_up(range.bytes(), page);
  return bytes;
}

HeldPages transfer_pages(const CachePlan& plan, const std::vector<std::vector<std::int64_t>>& tables,
                             const std::vector<std::int64_t>& num_free) {
  std::vector<std::set<std::int64_t>> ids(plan.arenas.size());
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    if (plan.groups[i].shares_table) continue;
    const std::vector<std::int64_t> of_group = held_ids(plan.groups[i], tables[i]);
    ids[plan.groups[i].arena.index()].insert(of_group.begin(), of_group.end());
  }
  HeldPages pages;
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    pages.free_ids.push_back(choose_free(plan.arenas[arena], ids[arena], num_free[arena]));
    ids[arena].insert(pages.free_ids.back().begin(), pages.free_ids.back().end());
    if (plan.arenas[arena].has_null_id) ids[arena].insert(0);
  }
  std::vector<std::vector<ByteRange>> ranges(plan.pools.size());
  for (const LanePlan& lane : plan.lanes)
    for (const std::int64_t id : ids[lane.arena.index()])
      ranges[lane.pool.index()].push_back({lane.begin(id), lane.begin(id) + lane.bytes});
  for (std::size_t pool = 0; pool < ranges.size(); ++pool)
    pages.pools.push_back(in_memory_pages(joined_ranges(std::move(ranges[pool])), plan.pools[pool].bytes));
  return pages;
}

void fill_canary(const PoolSet& pools, CanarySide side, std::int64_t pool, std::int64_t first, std::int64_t bytes) {
  fill_canary(pools.pool(pool).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(bytes)), pool,
              canary_place(side, first));
}

void fill_canaries(const PoolSet& pools, const HeldPages& pages, CanarySide side) {
  const std::vector<PoolPiece> pieces = pieces_of(pages);
  for_each_piece(pieces, pieces_together, [&](const PoolPiece& piece, std::size_t) {
    fill_canary(pools, side, piece.pool, piece.first, piece.bytes);
  });
}

CheckResult check_canaries(const CachePlan& plan, const PoolSet& pools, const HeldPages& pages, CanarySide side,
                           const std::string& who) {
  const std::vector<PoolPiece> pieces = pieces_of(pages);
  std::vector<CheckResult> results((pieces.size() + pieces_together - 1) / pieces_together);
  for_each_piece(pieces, pieces_together, [&](const PoolPiece& piece, std::size_t batch) {
    constexpr std::int64_t step = 4096;
    std::byte expected[step];
    CheckResult& result = results[batch];
    const std::byte* const base = pools.pool(piece.pool).data();
    for (std::int64_t first = piece.first; first < piece.first + piece.bytes; first += step) {
      const std::int64_t count = std::min(step, piece.first + piece.bytes - first);
      fill_canary(std::span(expected, static_cast<std::size_t>(count)), piece.pool, canary_place(side, first));
      if (std::memcmp(expected, base + first, static_cast<std::size_t>(count)) == 0) continue;
      if (result.status == CheckStatus::failed) return;
      const std::int64_t byte = std::mismatch(expected, expected + count, base + first).first - expected + first;
      result.fail(fmt::format("{}, pool {}, byte {}: {} was written to, where no part of the request belongs", who,
                              piece.pool, byte, owner_text(plan, piece.pool, byte)));
    }
  });
  CheckResult total{.count = pages.bytes(), .unit = "bytes"};
  total.add(results);
  if (const std::int64_t more = pools.resident_bytes() - pages.bytes(); more > 0)
    total.fail(fmt::format("{}: {} bytes were written to in pages of ids that the request does not hold", who, more));
  return total;
}

}  // namespace hybridkv
