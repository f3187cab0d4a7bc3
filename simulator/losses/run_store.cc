#include "simulator/losses/run_store.h"

#include <algorithm>
#include <bit>

#include "base/contract.h"

namespace hybridkv {

RunStore::Stretch RunStore::keep(std::span<const TokenRun> runs, std::int64_t first_run) {
  contract([&] { return !runs.empty(); }, "a stretch that is kept has runs");
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(runs.size() - 1));
  if (free_.size() <= size_class) free_.resize(size_class + 1);
  Stretch stretch = 0;
  if (free_[size_class].empty()) {
    stretch = static_cast<Stretch>(stretches_.size());
    stretches_.push_back({.at = runs_.size(), .size_class = size_class});
    runs_.resize(runs_.size() + (std::size_t{1} << size_class));
  } else {
    stretch = free_[size_class].back();
    free_[size_class].pop_back();
  }
  Kept& kept = stretches_[stretch];
  kept.first_run = first_run;
  kept.owners = 1;
  std::copy(runs.begin(), runs.end(), runs_.begin() + static_cast<std::ptrdiff_t>(kept.at));
  ++kept_;
  return stretch;
}

void RunStore::release(Stretch stretch) {
  Kept& kept = stretches_[stretch];
  contract([&] { return kept.owners > 0; }, "a stretch is released by an owner");
  if (--kept.owners > 0) return;
  free_[kept.size_class].push_back(stretch);
  --kept_;
}

}  // namespace hybridkv
