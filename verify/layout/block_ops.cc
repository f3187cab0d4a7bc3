#include "verify/layout/block_ops.h"

#include <algorithm>
#include <cstring>

#include "layout/for_each_run.h"

namespace hybridkv {

void zero_block(const PoolSet& pools, const BoundView& view, std::int64_t block) {
  std::byte* base = pools.pool(view.view.pool).data();
  for_each_run(view.page_bytes(block),
               [&](std::int64_t first, std::int64_t bytes) { std::memset(base + first, 0, bytes); });
}

void copy_block(const PoolSet& pools, const BoundView& view, std::int64_t from, std::int64_t to) {
  expects(from != to, "a block is copied to another one");
  std::byte* base = pools.pool(view.view.pool).data();
  const std::int64_t distance = view.page_bytes(to).offset() - view.page_bytes(from).offset();
  for_each_run(view.page_bytes(from), [&](std::int64_t first, std::int64_t bytes) {
    std::memcpy(base + first + distance, base + first, bytes);
  });
}

void zero_page_from_offset(const PoolSet& pools, const BoundView& view, std::int64_t block,
                           std::int64_t page_bytes) {
  const std::span<std::byte> pool = pools.pool(view.view.pool);
  const std::int64_t first = view.page_bytes(block).offset();
  const std::int64_t bytes = std::min(page_bytes, static_cast<std::int64_t>(pool.size()) - first);
  std::memset(pool.data() + first, 0, bytes);
}

void copy_page_from_offset(const PoolSet& pools, const BoundView& view, std::int64_t from, std::int64_t to,
                           std::int64_t page_bytes) {
  expects(from < to, "a page is copied to a later one");
  const std::span<std::byte> pool = pools.pool(view.view.pool);
  const std::int64_t first = view.page_bytes(from).offset();
  const std::int64_t target = view.page_bytes(to).offset();
  const std::int64_t bytes = std::min(page_bytes, static_cast<std::int64_t>(pool.size()) - target);
  std::memmove(pool.data() + target, pool.data() + first, bytes);
}

}  // namespace hybridkv
