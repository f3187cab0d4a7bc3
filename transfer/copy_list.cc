#include "transfer/copy_list.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

std::int64_t sum_over(const CopyList& list, std::int64_t Copy::*bytes) {
  std::int64_t sum = 0;
  for (const RankCopies& pair : list.pairs)
    for (const Copy& copy : pair.copies) sum += copy.*bytes;
  return sum;
}

}  // namespace

std::int64_t CopyList::descriptors() const {
  std::int64_t count = 0;
  for (const RankCopies& pair : pairs) count += std::ssize(pair.copies);
  return count;
}

std::int64_t CopyList::moved_bytes() const { return sum_over(*this, &Copy::bytes); }

std::int64_t CopyList::written_bytes() const { return sum_over(*this, &Copy::to_bytes); }

std::int64_t CopyList::unique_bytes() const {
  std::int64_t sum = 0;
  for (const Content& content : contents) sum += content.unique_bytes;
  return sum;
}

std::int64_t CopyList::longest_run() const {
  std::int64_t longest = 0;
  for (const RankCopies& pair : pairs)
    for (const Copy& copy : pair.copies) longest = std::max(longest, copy.bytes);
  return longest;
}

}  // namespace hybridkv
