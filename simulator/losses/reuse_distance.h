#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Whole numbers with weights, counted in classes a sixteenth of an octave wide: a quantile is a number that was added,
/// at most 6.3 % too large, and exact below 32.
class LogHistogram {
 public:
  /// Pre: value >= 0, weight >= 0.
  void add(std::int64_t value, std::int64_t weight);
  std::int64_t weight() const { return weight_; }
  /// The largest number of the first class up to which there is `share` of the weight, 0 .. 1; 0 where there is no
  /// weight.
  std::int64_t quantile(double share) const;

 private:
  static constexpr std::size_t num_classes = 1024;
  std::array<std::int64_t, num_classes> weights_{};
  std::array<std::int64_t, num_classes> largest_{};
  std::int64_t weight_ = 0;
};

/// What is touched again, and how much else was touched since: the distance at which a least-recently-used memory
/// that matches prefixes needs to find it.
///
/// Memory: about 100 bytes per different run.
class ReuseDistances {
 public:
  struct Distances {
    LogHistogram requests;  ///< other requests between, weighted by tokens
    LogHistogram tokens;    ///< of different content touched since, own prefix and run included, weighted by tokens
  };
  /// The prompt of the next request. Tokens of its runs, whole ones, that earlier prompts began with.
  std::int64_t touch(std::span<const TokenRun> prompt);
  const Distances& distances() const { return distances_; }
  /// Tokens of all different runs.
  std::int64_t distinct_tokens() const { return distinct_tokens_; }

 private:
  struct Entry {
    std::uint64_t chain = 0;     // 0 = empty
    std::int64_t tokens = 0;     // most that were touched of it
    std::int64_t position = 0;   // in the order of touching
    std::int64_t request = 0;    // that touched it last
  };
  std::size_t bucket_of(std::uint64_t chain) const;
  void place(std::size_t bucket, std::int64_t tokens);
  void renumber();
  void grow();
  void add(std::int64_t position, std::int64_t tokens);
  std::int64_t up_to(std::int64_t position) const;

  std::vector<Entry> table_ = std::vector<Entry>(1 << 10);  // power of two, open addressing, at most half full
  std::size_t filled_ = 0;
  std::vector<std::int64_t> sums_ = std::vector<std::int64_t>(1 << 12);  // Fenwick tree over positions, from 1
  std::int64_t next_position_ = 1;
  std::int64_t distinct_tokens_ = 0;
  std::int64_t requests_ = 0;
  Distances distances_;
};

}  // namespace hybridkv
