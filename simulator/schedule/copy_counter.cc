#include "simulator/schedule/copy_counter.h"

#include <algorithm>

namespace hybridkv {

namespace {

constexpr std::uint64_t of_count = 3;

static_assert(CopyCounter::most <= of_count);

}  // namespace

std::size_t CopyCounter::place_of(std::uint64_t key) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = key >> shift_;
  while (buckets_[at] != 0 && (buckets_[at] & ~of_count) != key) at = (at + 1) & mask;
  return at;
}

void CopyCounter::grow() {
  std::vector<std::uint64_t> old(4 * buckets_.size());
  old.swap(buckets_);
  shift_ -= 2;
  // Places ascend with keys, so that both tables are walked from the front.
  for (const std::uint64_t kept : old)
    if (kept != 0) buckets_[place_of(kept & ~of_count)] = kept;
}

int CopyCounter::count(PrefixKey prompt) {
  const std::uint64_t key = prompt & ~of_count;
  std::size_t at = place_of(key);
  if (buckets_[at] == 0) {
    // At most three quarters are filled: a look-up then passes two or three of them.
    if (4 * (filled_ + 1) > 3 * buckets_.size()) {
      grow();
      at = place_of(key);
    }
    ++filled_;
    buckets_[at] = key | 1;
    return 1;
  }
  const std::uint64_t times = std::min<std::uint64_t>((buckets_[at] & of_count) + 1, most);
  buckets_[at] = key | times;
  return static_cast<int>(times);
}

}  // namespace hybridkv
