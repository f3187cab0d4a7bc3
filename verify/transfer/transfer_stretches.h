#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transfer/copy_list.h"
#include "verify/transfer/transfer_pages.h"
#include "verify/transfer/transfer_rank.h"

namespace hybridkv {

/// Elements of a state on two ranks that are the same of the whole layer, by their places in the rows of RankState.
struct StateStretch {
  std::int64_t from = 0, to = 0, count = 0;
};
std::vector<StateStretch> shared_stretches(const RankState& from, const RankState& to);

/// How elements of one type become those of another, for copies that are in no list: as they are, or by the content
/// that converts so.
std::int32_t content_between(std::span<const Content> contents, DType from, DType to);

/// Adds copies of elements of a state, to where the others lie. `from_ids`: of the entry that is read, by piece.
void add_state_copies(const RankState& from, std::span<const std::int64_t> from_ids, const RankState& to,
                      const StateStretch& stretch, std::int32_t content, std::vector<Copy>& copies);

/// Adds copies of K and V of tokens [first, end), of one head of a rank into one of another.
void add_head_copies(const RankTokens& from, std::int64_t from_head, const RankTokens& to, std::int64_t to_head,
                     ByteRange tokens, std::int32_t content, std::vector<Copy>& copies);

/// The bytes of each pool that a request has on a rank: of K and V, of states, or of both.
enum class LivePart { tokens, states, all };
std::vector<std::vector<ByteRange>> live_ranges(const TransferRank& rank, LivePart part);

}  // namespace hybridkv
