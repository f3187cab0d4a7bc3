#include "transfer/merge_copies.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace hybridkv {

namespace {

bool comes_before(const Copy& a, const Copy& b) {
  return a.to_pool != b.to_pool ? a.to_pool < b.to_pool : a.to < b.to;
}

/// Lists come as few rows that ascend, one behind the other: merging them costs the copies times the logarithm of the
/// rows, and nothing where there is but one.
void put_in_order(std::vector<Copy>& copies) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < copies.size(); ++i)
    if (comes_before(copies[i], copies[i - 1])) begins.push_back(i);
  std::vector<Copy> merged;
  while (begins.size() > 1) {
    merged.resize(copies.size());
    std::vector<std::size_t> next;
    const auto at = [&](std::size_t row) {
      return copies.begin() + static_cast<std::ptrdiff_t>(row < begins.size() ? begins[row] : copies.size());
    };
    for (std::size_t row = 0; row < begins.size(); row += 2) {
      next.push_back(begins[row]);
      std::merge(at(row), at(row + 1), at(row + 1), at(row + 2),
                 merged.begin() + static_cast<std::ptrdiff_t>(begins[row]), comes_before);
    }
    copies.swap(merged);
    begins = std::move(next);
  }
}

}  // namespace

std::vector<JoinedBytes> merge_copies(std::vector<Copy>& copies, const std::vector<Content>& contents) {
  put_in_order(copies);
  const auto converted = [&](const Copy& a, const Copy& b) {
    const Content& first = contents[static_cast<std::size_t>(a.content)];
    const Content& second = contents[static_cast<std::size_t>(b.content)];
    if (!first.converts() && !second.converts()) return true;
    return first.from_dtype == second.from_dtype && first.to_dtype == second.to_dtype;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, JoinedBytes> joined;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Copy& next = copies[i];
    if (kept > 0) {
      Copy& last = copies[kept - 1];
      if (last.to + last.to_bytes == next.to && last.from + last.bytes == next.from && last.to_pool == next.to_pool &&
          last.from_pool == next.from_pool && converted(last, next)) {
        last.bytes += next.bytes;
        last.to_bytes += next.to_bytes;
        if (next.content != last.content) {
          JoinedBytes& of = joined[{last.content, next.content}];
          of = {last.content, next.content, of.bytes + next.bytes, of.to_bytes + next.to_bytes};
        }
        continue;
      }
    }
    copies[kept++] = next;
  }
  copies.resize(kept);
  std::vector<JoinedBytes> all;
  for (const auto& [contents_of, bytes] : joined) all.push_back(bytes);
  return all;
}

}  // namespace hybridkv
