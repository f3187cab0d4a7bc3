#include "attention/memory_report.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

Allocation dense_allocation(std::string what, std::vector<std::int64_t> shape, std::int64_t element_bytes) {
  Checked bytes = element_bytes;
  for (const std::int64_t extent : shape) bytes *= extent;
  return {std::move(what), std::move(shape), bytes};
}

std::int64_t total_bytes(const std::vector<Allocation>& allocations) {
  Checked total = 0;
  for (const Allocation& allocation : allocations) total += allocation.bytes;
  return total;
}

std::int64_t bytes_of(const std::vector<Allocation>& allocations, std::string_view what) {
  Checked total = 0;
  for (const Allocation& allocation : allocations)
    if (allocation.what == what) total += allocation.bytes;
  return total;
}

void MemoryReport::refuse(const Allocation& allocation) {
  throw ResourceError(fmt::format("no memory for {} ({}): {} bytes; a chunked bias, a smaller chunk or a smaller batch "
                                  "needs less",
                                  allocation.what, fmt::join(allocation.shape, ", "), allocation.bytes));
}

}  // namespace hybridkv
