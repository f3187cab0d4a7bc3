#include "attention/paged_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Rows that one item keeps, as far as their queries and results stay in the second-level cache.
std::int64_t rows_of_item(const AttentionShape& shape) {
  constexpr std::int64_t cache_bytes = 1 << 20, most_rows = 504, fewest_rows = 12;
  const std::int64_t row_bytes = 4 * (shape.head_size_k + shape.head_size_v);
  return std::clamp(cache_bytes / row_bytes, fewest_rows, most_rows);
}

/// Rows up to which an item takes all heads: they then read every token's K and V of all heads in one pass.
constexpr std::int64_t few_rows = 32;

class Planner {
 public:
  Planner(const CommonAttentionMetadata& metadata, const AttentionShape& shape, std::int64_t threads)
      : metadata_(metadata), shape_(shape), threads_(threads), group_(shape.num_query_heads / shape.num_kv_heads),
        item_tokens_(std::max<std::int64_t>(1, rows_of_item(shape) / group_)), splits_done_(metadata.num_reqs, 0) {}

  PagedPlan plan() {
    take_shared_prefixes();
    for (std::int64_t request = 0; request < metadata_.num_reqs; ++request) add_request(request);
    cut_into_splits();
    const auto by_cost = [](const PagedItem& a, const PagedItem& b) { return a.cost > b.cost; };
    for (const std::vector<PagedItem>* items : {&plan_.shared_items, &plan_.items})
      for (const PagedItem& item : *items) note_size(item);
    std::stable_sort(plan_.shared_items.begin(), plan_.shared_items.end(), by_cost);
    std::stable_sort(plan_.items.begin(), plan_.items.end(), by_cost);
    return std::move(plan_);
  }

 private:
  std::int64_t rows_of(const PagedItem& item) const {
    std::int64_t tokens = 0;
    for (std::int64_t i = item.first_segment; i < item.last_segment; ++i) tokens += plan_.segments[i].count;
    return tokens * group_;
  }

  void note_size(const PagedItem& item) {
    const std::int64_t rows = rows_of(item);
    plan_.max_rows = std::max(plan_.max_rows, rows);
    plan_.max_head_rows = std::max(plan_.max_head_rows, rows * (item.last_head - item.first_head));
  }

  /// Leading positions that all query tokens of a request see.
  std::int64_t seen_by_all(std::int64_t request) const {
    return std::max<std::int64_t>(0, visible_keys(metadata_, request, 0, {}).last);
  }

  bool may_share(std::int64_t request) const {
    return metadata_.query_len(request) > 0 && metadata_.query_len(request) * group_ <= few_rows &&
           seen_by_all(request) >= paged_split_tokens;
  }

  /// Splits that both requests hold whole in the same blocks.
  std::int64_t common_splits(std::int64_t a, std::int64_t b) const {
    const std::int64_t seen = std::min(seen_by_all(a), seen_by_all(b));
    std::int64_t column = 0;
    while (column * metadata_.block_size_tokens < seen && metadata_.block(a, column) == metadata_.block(b, column))
      ++column;
    return std::min(seen, column * metadata_.block_size_tokens) / paged_split_tokens;
  }

  void take_shared_prefixes() {
    if (shape_.mask.kind != MaskKind::full) return;
    std::vector<std::int64_t> requests;
    for (std::int64_t request = 0; request < metadata_.num_reqs; ++request)
      if (may_share(request)) requests.push_back(request);
    // Requests with the same first block follow each other.
    std::stable_sort(requests.begin(), requests.end(), [this](std::int64_t a, std::int64_t b) {
      return metadata_.block(a, 0) < metadata_.block(b, 0);
    });
    for (std::size_t leader = 0; leader < requests.size();) {
      std::int64_t splits = seen_by_all(requests[leader]) / paged_split_tokens;
      std::int64_t tokens = metadata_.query_len(requests[leader]);
      std::size_t next = leader + 1;
      for (; next < requests.size(); ++next) {
        const std::int64_t common = std::min(splits, common_splits(requests[leader], requests[next]));
        const std::int64_t length = metadata_.query_len(requests[next]);
        // A member with little in common would take the others' prefix away.
        if (common < 1 || 2 * common < splits || tokens + length > item_tokens_) break;
        splits = common;
        tokens += length;
      }
      if (next - leader > 1) add_shared({requests.begin() + leader, requests.begin() + next}, splits);
      leader = next;
    }
  }

  void add_shared(const std::vector<std::int64_t>& requests, std::int64_t splits) {
    PagedItem item;
    item.first_segment = std::ssize(plan_.segments);
    for (const std::int64_t request : requests) {
      plan_.segments.push_back({request, 0, metadata_.query_len(request)});
      splits_done_[request] = splits;
    }
    item.last_segment = std::ssize(plan_.segments);
    item.last_split = splits;
    item.cost = rows_of(item) * splits * paged_split_tokens;
    for (item.first_head = 0; item.first_head < shape_.num_kv_heads; ++item.first_head) {
      item.last_head = item.first_head + 1;
      plan_.shared_items.push_back(item);
    }
  }

  void add_request(std::int64_t request) {
    const std::int64_t query_len = metadata_.query_len(request);
    for (std::int64_t first = 0; first < query_len; first += item_tokens_) {
      const std::int64_t count = std::min(item_tokens_, query_len - first);
      const VisibleKeys head = visible_keys(metadata_, request, first, shape_.mask);
      const VisibleKeys tail = visible_keys(metadata_, request, first + count - 1, shape_.mask);
      PagedItem item;
      item.first_segment = std::ssize(plan_.segments);
      item.last_segment = item.first_segment + 1;
      item.first_split = std::max(splits_done_[request], head.first / paged_split_tokens);
      item.last_split = ceil_div(std::max<std::int64_t>(0, tail.last), paged_split_tokens);
      if (item.first_split >= item.last_split) continue;
      plan_.segments.push_back({request, first, count});
      const std::int64_t rows = count * group_;
      const std::int64_t heads = rows <= few_rows ? shape_.num_kv_heads : 1;
      item.cost = rows * heads * (tail.last - item.first_split * paged_split_tokens);
      for (item.first_head = 0; item.first_head < shape_.num_kv_heads; item.first_head += heads) {
        item.last_head = item.first_head + heads;
        plan_.items.push_back(item);
      }
    }
  }

  /// Gives every thread something to do where there are few, long items.
  void cut_into_splits() {
    constexpr std::int64_t items_per_thread = 4;
    if (threads_ < 2 || std::ssize(plan_.items) >= items_per_thread * threads_) return;
    std::vector<PagedItem> whole;
    std::swap(whole, plan_.items);
    for (const PagedItem& item : whole) {
      const std::int64_t splits = item.last_split - item.first_split;
      if (splits < 2) {
        plan_.items.push_back(item);
        continue;
      }
      for (std::int64_t split = item.first_split; split < item.last_split; ++split) {
        PagedItem part = item;
        part.first_split = split;
        part.last_split = split + 1;
        part.cost = item.cost / splits;
        part.partial_row = plan_.partial_rows;
        plan_.partial_rows += rows_of(item) * (item.last_head - item.first_head);
        plan_.items.push_back(part);
        plan_.merges.push_back(part);
      }
    }
  }

  const CommonAttentionMetadata& metadata_;
  const AttentionShape& shape_;
  std::int64_t threads_;
  std::int64_t group_, item_tokens_;
  std::vector<std::int64_t> splits_done_;  ///< per request, by shared items
  PagedPlan plan_;
};

}  // namespace

VisibleKeys visible_keys(const CommonAttentionMetadata& metadata, std::int64_t request, std::int64_t i,
                         const KeyMask& mask) {
  const std::int64_t position = metadata.position(request, i);
  const std::int64_t last =
      metadata.causal ? std::min(metadata.seq_lens[request], position + 1) : metadata.seq_lens[request];
  return {mask.first_visible(position), last};
}

PagedPlan plan_paged(const CommonAttentionMetadata& metadata, const AttentionShape& shape, std::int64_t threads) {
  return Planner(metadata, shape, threads).plan();
}

}  // namespace hybridkv
