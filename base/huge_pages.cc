#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace hybridkv {

void advise_huge_pages(std::span<const std::byte> memory) {
  // The kernel takes what lies between whole memory pages.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t start = (first + page - 1) / page * page, end = (first + memory.size()) / page * page;
  if (start < end) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
}

}  // namespace hybridkv
