#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/resident_budget.h"
#include "measure/arithmetic.h"

namespace hybridkv {

/// Where what is read lies.
enum class MemoryLevel { l1, l2, l3, memory };

inline constexpr auto memory_level_names = std::to_array<Named<MemoryLevel>>(
    {{MemoryLevel::l1, "L1"}, {MemoryLevel::l2, "L2"}, {MemoryLevel::l3, "L3"}, {MemoryLevel::memory, "memory"}});

constexpr std::string_view to_string(MemoryLevel level) { return name_in(memory_level_names, level); }

/// What this machine can do at most on so many threads together: what kernels are measured against.
struct MachineRates {
  struct Peak {
    std::int64_t threads = 1;
    Arithmetic arithmetic = Arithmetic::fp32_plain;
    double flops_per_second = 0;
  };
  struct Read {
    std::int64_t threads = 1;
    MemoryLevel level = MemoryLevel::memory;
    std::int64_t bytes = 0;  ///< that are read again and again, of all threads
    double bytes_per_second = 0;
  };
  std::vector<Peak> peaks;  ///< threads outermost, then each arithmetic that is there
  std::vector<Read> reads;  ///< likewise
};

/// Measures it for each of these numbers of threads, in a few tenths of a second each. Of a first- and second-level
/// cache a thread reads half, of the third-level one all together an eighth, but from 16 to 64 MiB, of memory one and a
/// half times the third-level cache, but from 64 to 512 MiB. A level is left out whose size the system does not tell,
/// or for which the budget has no room. Pre: each >= 1.
MachineRates measure_machine(const std::vector<std::int64_t>& threads, ResidentBudget& budget);

}  // namespace hybridkv
