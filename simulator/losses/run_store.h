#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Keeps stretches of prompts (consecutive runs) for as long as somebody shares them, in memory that is used again.
///
/// A stretch knows the number of its first run in its prompt, so that its runs are asked for by the prompt's numbers.
/// Room is handed out in powers of two: once the store has grown to what is held at a time, nothing is allocated.
class RunStore {
 public:
  using Stretch = std::uint32_t;

  /// Runs `first_run` and on of a prompt, shared once. Pre: not empty.
  Stretch keep(std::span<const TokenRun> runs, std::int64_t first_run);
  /// One more owner.
  void share(Stretch stretch) { ++stretches_[stretch].owners; }
  /// One owner less; without any its room is used again.
  void release(Stretch stretch);

  /// Run of that number in the prompt. Pre: the stretch has it.
  const TokenRun& run(Stretch stretch, std::int64_t number) const {
    const Kept& kept = stretches_[stretch];
    return runs_[kept.at + static_cast<std::size_t>(number - kept.first_run)];
  }
  /// Owners of a stretch, for checks.
  std::int64_t owners(Stretch stretch) const { return stretches_[stretch].owners; }
  /// Stretches that somebody owns, for checks.
  std::int64_t num_kept() const { return kept_; }

 private:
  struct Kept {
    std::size_t at = 0;  // in runs_
    std::int64_t first_run = 0;
    std::uint32_t owners = 0;
    std::uint32_t size_class = 0;  // room for 2^size_class runs
  };

  std::vector<TokenRun> runs_;
  std::vector<Kept> stretches_;
  std::vector<std::vector<Stretch>> free_;  // (size class)
  std::int64_t kept_ = 0;
};

}  // namespace hybridkv
