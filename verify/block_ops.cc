#include "verify/block_ops.h"

#include <algorithm>
#include <cstring>

#include "layout/for_each_run.h"

namespace hybridkv {

void zero_block(const PoolSet& pools, const BoundView& view, std::int64_t block) {
  std::byte* base = pools.pool(view.view.pool).data();
  const std::int64_t element = view.element_bytes();
  for_each_run(view.page_layout(block), [&](std::int64_t offset, std::int64_t count) {
    std::memset(base + offset * element, 0, count * element);
  });
}

void copy_block(const PoolSet& pools, const BoundView& view, std::int64_t from, std::int64_t to) {
  expects(from != to, "a block is copied to another one");
  std::byte* base = pools.pool(view.view.pool).data();
  const std::int64_t element = view.element_bytes();
  const std::int64_t distance = view.page_layout(to).offset() - view.page_layout(from).offset();
  for_each_run(view.page_layout(from), [&](std::int64_t offset, std::int64_t count) {
    std::memcpy(base + (offset + distance) * element, base + offset * element, count * element);
  });
}

void zero_page_from_offset(const PoolSet& pools, const BoundView& view, std::int64_t block,
                           std::int64_t page_bytes) {
  const std::span<std::byte> pool = pools.pool(view.view.pool);
  const std::int64_t first = view.page_layout(block).offset() * view.element_bytes();
  const std::int64_t bytes = std::min(page_bytes, static_cast<std::int64_t>(pool.size()) - first);
  std::memset(pool.data() + first, 0, bytes);
}

}  // namespace hybridkv
