#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/pool/block_id.h"
#include "simulator/pool/free_queue.h"

namespace hybridkv {

/// Pages of KV in token order; empty where the pool only counts them.
using PageRows = std::vector<BlockId>;

/// The token slots of a dual pool, taken and given back in whole pages, first in, first out (SGLang's allocators).
///
/// A pool may only count its pages, which is all that sizes and evictions depend on, or give each its number.
class TokenPool {
 public:
  /// Pre: page >= 1. Tokens that make no whole page are not used.
  TokenPool(std::int64_t tokens, std::int64_t page, bool numbers_pages)
      : page_(page), pages_(tokens / page), free_(pages_) {
    if (numbers_pages) queue_.emplace(pages_ + 1);
  }

  std::int64_t page() const { return page_; }
  std::int64_t num_pages() const { return pages_; }
  std::int64_t free_pages() const { return free_; }
  std::int64_t free_tokens() const { return free_ * page_; }
  bool numbers_pages() const { return queue_.has_value(); }

  /// Appends the pages taken to `rows`. Pre: so many are free.
  void take(std::int64_t pages, PageRows& rows) {
    expects(pages >= 0 && pages <= free_, "pages are taken from a pool that has them");
    free_ -= pages;
    if (!queue_) return;
    for (; pages > 0; --pages) rows.push_back(queue_->pop_front());
  }
  /// Gives pages back; `rows` are theirs where they have numbers.
  void give(std::int64_t pages, std::span<const BlockId> rows) {
    free_ += pages;
    if (!queue_) return;
    expects(static_cast<std::int64_t>(rows.size()) == pages, "pages with numbers are given back by their numbers");
    for (const BlockId row : rows) queue_->push_back(row);
  }
  /// Numbers of the free pages, for checks. Pre: numbers_pages().
  std::vector<BlockId> free_rows() const { return queue_->in_order(); }

 private:
  std::int64_t page_;
  std::int64_t pages_;
  std::int64_t free_;
  std::optional<FreeQueue> queue_;
};

}  // namespace hybridkv
