#include "measure/machine_rates.h"

#include <unistd.h>

#include <algorithm>

#include "base/checked.h"
#include "measure/machine_peak.h"
#include "measure/streaming_read.h"

namespace hybridkv {

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// Bytes of a cache; 0 where the system does not tell.
std::int64_t cache_bytes(MemoryLevel level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  switch (level) {
    case MemoryLevel::l1: return std::max(0L, sysconf(_SC_LEVEL1_DCACHE_SIZE));
    case MemoryLevel::l2: return std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE));
    case MemoryLevel::l3: return std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
    case MemoryLevel::memory: break;
  }
#endif
  return level == MemoryLevel::memory ? cache_bytes(MemoryLevel::l3) : 0;
}

/// Bytes to read so that they come from there; 0 where that is not known.
std::int64_t bytes_of(MemoryLevel level, std::int64_t threads) {
  const std::int64_t cache = cache_bytes(level);
  switch (level) {
    case MemoryLevel::l1:
    case MemoryLevel::l2: return Checked(cache / 2) * threads;
    case MemoryLevel::l3: return cache == 0 ? 0 : std::clamp(cache / 8, 16 * mebibyte, 64 * mebibyte);
    case MemoryLevel::memory: break;
  }
  return std::clamp(cache + cache / 2, 64 * mebibyte, 512 * mebibyte);
}

}  // namespace

MachineRates measure_machine(const std::vector<std::int64_t>& threads, ResidentBudget& budget) {
  MachineRates rates;
  const std::int64_t room = budget.limit_bytes() - budget.charged_bytes();
  std::int64_t most = 0;
  for (const std::int64_t count : threads)
    for (const auto& [level, name] : memory_level_names)
      if (const std::int64_t bytes = bytes_of(level, count); bytes > 0 && bytes <= room) {
        rates.reads.push_back({count, level, bytes, 0});
        most = std::max(most, bytes);
      }
  if (most > 0) {
    const ResidentCharge charge(budget, most, "a buffer to measure how fast this machine reads");
    const StreamingRead read(most);
    for (MachineRates::Read& each : rates.reads)
      each.bytes_per_second = read.bytes_per_second(each.bytes, each.threads);
  }
  for (const std::int64_t count : threads)
    for (const Arithmetic arithmetic : all_arithmetics)
      if (is_available(arithmetic))
        rates.peaks.push_back({count, arithmetic, peak_flops_per_second(arithmetic, count)});
  return rates;
}

}  // namespace hybridkv
