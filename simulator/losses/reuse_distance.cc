#include "simulator/losses/reuse_distance.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hybridkv {

namespace {

constexpr int fine_bits = 4;  // classes per octave, as a power of two

std::size_t class_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (bits < (std::uint64_t{1} << fine_bits)) return static_cast<std::size_t>(bits);
  const int octave = static_cast<int>(std::bit_width(bits)) - 1 - fine_bits;
  return (static_cast<std::size_t>(octave) << fine_bits) + static_cast<std::size_t>(bits >> octave);
}

}  // namespace

void LogHistogram::add(std::int64_t value, std::int64_t weight) {
  const std::size_t at = class_of(value);
  weights_[at] += weight;
  largest_[at] = std::max(largest_[at], value);
  weight_ += weight;
}

std::int64_t LogHistogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(weight_);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < num_classes; ++i) {
    sum += weights_[i];
    if (sum > 0 && static_cast<double>(sum) >= wanted) return largest_[i];
  }
  return 0;
}

std::size_t ReuseDistances::bucket_of(std::uint64_t chain) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = chain & mask;
  while (table_[at].chain != 0 && table_[at].chain != chain) at = (at + 1) & mask;
  return at;
}

void ReuseDistances::grow() {
  std::vector<Entry> old(2 * table_.size());
  old.swap(table_);
  for (const Entry& kept : old)
    if (kept.chain != 0) table_[bucket_of(kept.chain)] = kept;
}

void ReuseDistances::add(std::int64_t position, std::int64_t tokens) {
  const auto end = static_cast<std::int64_t>(sums_.size());
  for (std::int64_t at = position; at < end; at += at & -at) sums_[static_cast<std::size_t>(at)] += tokens;
}

std::int64_t ReuseDistances::up_to(std::int64_t position) const {
  std::int64_t sum = 0;
  for (std::int64_t at = position; at > 0; at -= at & -at) sum += sums_[static_cast<std::size_t>(at)];
  return sum;
}

void ReuseDistances::renumber() {
  std::vector<Entry*> live;
  for (Entry& entry : table_)
    if (entry.chain != 0) live.push_back(&entry);
  std::sort(live.begin(), live.end(), [](const Entry* a, const Entry* b) { return a->position < b->position; });
  sums_.assign(std::max<std::size_t>(sums_.size(), std::bit_ceil(4 * live.size())), 0);
  next_position_ = 1;
  for (Entry* entry : live) {
    entry->position = next_position_++;
    add(entry->position, entry->tokens);
  }
}

void ReuseDistances::place(std::size_t bucket, std::int64_t tokens) {
  Entry& entry = table_[bucket];
  if (entry.position > 0) add(entry.position, -entry.tokens);
  distinct_tokens_ += std::max(tokens, entry.tokens) - entry.tokens;
  entry.tokens = std::max(tokens, entry.tokens);
  entry.position = next_position_++;
  entry.request = requests_;
  add(entry.position, entry.tokens);
}

std::int64_t ReuseDistances::touch(std::span<const TokenRun> prompt) {
  const auto chain_of = [](const TokenRun& run) { return run.chain == 0 ? 1 : run.chain; };
  const auto tokens_of = [&](std::size_t i) { return prompt[i].end_token - (i > 0 ? prompt[i - 1].end_token : 0); };
  std::int64_t repeated = 0;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const Entry& entry = table_[bucket_of(chain_of(prompt[i]))];
    if (entry.chain == 0 || entry.tokens < tokens_of(i)) break;
    distances_.requests.add(requests_ - entry.request - 1, tokens_of(i));
    distances_.tokens.add(distinct_tokens_ - up_to(entry.position - 1), tokens_of(i));
    repeated = prompt[i].end_token;
  }
  // The first run is touched last, so that what stands on it is never newer.
  for (std::size_t i = prompt.size(); i-- > 0;) {
    if (next_position_ == static_cast<std::int64_t>(sums_.size())) renumber();
    std::size_t bucket = bucket_of(chain_of(prompt[i]));
    if (table_[bucket].chain == 0) {
      table_[bucket].chain = chain_of(prompt[i]);
      if (2 * ++filled_ > table_.size()) {
        grow();
        bucket = bucket_of(chain_of(prompt[i]));
      }
    }
    place(bucket, tokens_of(i));
  }
  ++requests_;
  return repeated;
}

}  // namespace hybridkv
