#include "verify/transfer/transfer_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/convert.h"
#include "base/parallel.h"

namespace hybridkv {

namespace {

bool lies_in(const CachePlan& plan, std::int64_t pool, std::int64_t first, std::int64_t bytes) {
  return pool >= 0 && pool < std::ssize(plan.pools) && first >= 0 && bytes >= 0 &&
         first <= plan.pools[static_cast<std::size_t>(pool)].bytes - bytes;
}

void convert(const std::byte* from, DType from_dtype, std::byte* to, DType to_dtype, std::int64_t elements) {
  std::array<float, 1024> values;
  while (elements > 0) {
    const std::int64_t count = std::min<std::int64_t>(elements, values.size());
    const std::span<float> some(values.data(), static_cast<std::size_t>(count));
    load_elements(from, from_dtype, some);
    store_elements(to, to_dtype, some);
    from += count * element_bytes(from_dtype);
    to += count * element_bytes(to_dtype);
    elements -= count;
  }
}

/// Positions at which the descriptors are cut into works of about a MiB.
std::vector<std::size_t> works_of(std::span<const Copy> copies) {
  constexpr std::int64_t work_bytes = std::int64_t(1) << 20;
  std::vector<std::size_t> starts{0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    bytes += copies[i].bytes;
    const bool repeats = i + 1 < copies.size() && copies[i + 1] == copies[i];  // a planted fault; never side by side
    if (bytes < work_bytes || repeats) continue;
    starts.push_back(i + 1);
    bytes = 0;
  }
  if (starts.back() < copies.size()) starts.push_back(copies.size());
  return starts;
}

}  // namespace

DescriptorCheck check_descriptors(const CopyList& list, std::span<const TransferRank> from,
                                  std::span<const TransferRank> to, std::int64_t first_token) {
  DescriptorCheck check{.result = {.unit = "bytes"}};
  std::vector<std::int64_t> written(to.size());
  for (const RankCopies& pair : list.pairs) {
    const TransferRank& source = from[static_cast<std::size_t>(pair.from_rank)];
    const TransferRank& destination = to[static_cast<std::size_t>(pair.to_rank)];
    for (const Copy& copy : pair.copies) {
      written[static_cast<std::size_t>(pair.to_rank)] += copy.to_bytes;
      const bool reads_in = lies_in(*source.plan, copy.from_pool, copy.from, copy.bytes);
      if (reads_in && lies_in(*destination.plan, copy.to_pool, copy.to, copy.to_bytes)) continue;
      check.is_safe = false;
      check.result.fail(fmt::format("rank {} to rank {}: {} bytes from byte {} of pool {} to byte {} of pool {} leave "
                                    "the pool of the {}", pair.from_rank, pair.to_rank, copy.bytes, copy.from,
                                    copy.from_pool, copy.to, copy.to_pool, reads_in ? "destination" : "source"));
    }
  }
  for (std::size_t rank = 0; rank < to.size(); ++rank) {
    check.result.count += written[rank];
    const std::int64_t live = to[rank].live_bytes(first_token);
    if (written[rank] != live)
      check.result.fail(fmt::format("destination rank {}: the descriptors write {} bytes, the request has {} there",
                                    rank, written[rank], live));
  }
  return check;
}

void run_copies(const RankMemory& from, const RankMemory& to, std::span<const Copy> copies,
                std::span<const Content> contents) {
  const std::vector<std::size_t> works = works_of(copies);
  parallel_for(works.size() - 1, [&](std::size_t work) {
    for (const Copy& copy : copies.subspan(works[work], works[work + 1] - works[work])) {
      const std::byte* const source = from.pools.pool(copy.from_pool).data() + copy.from;
      std::byte* const destination = to.pools.pool(copy.to_pool).data() + copy.to;
      const Content* const content =
          copy.content == raw_bytes ? nullptr : &contents[static_cast<std::size_t>(copy.content)];
      if (content != nullptr && content->converts())
        convert(source, content->from_dtype, destination, content->to_dtype,
                copy.bytes / element_bytes(content->from_dtype));
      else
        std::memcpy(destination, source, static_cast<std::size_t>(copy.bytes));
    }
  });
}

}  // namespace hybridkv
