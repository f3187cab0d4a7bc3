#include "transfer/nearest_rank.h"

#include <algorithm>

#include "base/rank_share.h"

namespace hybridkv {

std::int64_t nearest_rank(std::int64_t parts, std::int64_t part, std::int64_t from_ranks, std::int64_t to_ranks,
                          std::int64_t to_rank) {
  if (parts % from_ranks == 0) return part / (parts / from_ranks);
  const std::int64_t copies = from_ranks / parts;
  return std::clamp(to_rank * from_ranks / to_ranks, part * copies, (part + 1) * copies - 1);
}

std::vector<PartsFromRank> parts_from_ranks(std::int64_t parts, std::int64_t from_ranks, std::int64_t to_ranks,
                                            std::int64_t to_rank) {
  const RankShare share = rank_share(parts, to_ranks, to_rank);
  std::vector<PartsFromRank> runs;
  for (std::int64_t part = share.first; part < share.end(); ++part) {
    const std::int64_t source = nearest_rank(parts, part, from_ranks, to_ranks, to_rank);
    if (!runs.empty() && runs.back().from_rank == source)
      ++runs.back().count;
    else
      runs.push_back({source, part - rank_share(parts, from_ranks, source).first, part - share.first, 1});
  }
  return runs;
}

}  // namespace hybridkv
