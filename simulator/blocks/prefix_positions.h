#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// The largest multiple of `grain` that `tokens` >= 0 reach.
constexpr std::int64_t floor_to(std::int64_t tokens, std::int64_t grain) { return tokens / grain * grain; }

/// A stretch of tokens that one step computes of a request.
struct ComputedChunk {
  std::int64_t start = 0;     ///< tokens computed or found before it
  std::int64_t end = 0;       ///< and behind it
  std::int64_t prompt = 0;    ///< n: tokens of the prompt
  std::int64_t tokens = 0;    ///< prompt and what was generated
  std::int64_t junction = 0;  ///< tokens up to which one group alone matched at the look-up, 0 = none
  /// e: from here on nothing of the request is cut any more.
  std::int64_t prefill_end() const { return std::max(prompt, tokens - 1); }
};

/// At how many tokens vLLM 0.33 keeps prefixes, mode align (KVCacheManager, MambaManager, Scheduler).
///
/// Words: B block of the states; S the smallest number that every group's block divides; h tokens of a match unit; R
/// retention interval; l tokens that a key looks ahead. Hits are *fine*, multiples of h, where h is below B and every
/// group without states can be found at each unit; else multiples of S.
///
/// Example: B = S = 528, R = 0, n = 2200 -> last(n, S) is 2112, the only boundary that is kept; with h = 16 the state's
/// tail is 2192 besides.
class PrefixPositions {
 public:
  explicit PrefixPositions(const CacheGeometry& geometry);

  std::int64_t block() const { return block_; }      ///< B
  std::int64_t segment() const { return segment_; }  ///< S
  std::int64_t unit() const { return unit_; }        ///< h
  bool fine() const { return fine_; }
  /// Tokens between two lengths of a hit.
  std::int64_t hit_step() const { return fine_ ? unit_ : segment_; }

  /// The last multiple of `grain` tokens whose key is known from `tokens` tokens and that leaves one to compute; a
  /// drafter that drops costs one more. 0 = none.
  std::int64_t last(std::int64_t tokens, std::int64_t grain) const;
  /// Where the state inside a block is kept that the prompt's tail ends with; 0 = nowhere.
  std::int64_t state_tail(std::int64_t prompt) const { return fine_ ? last(prompt, unit_) : 0; }
  /// Where the attention tail of a prompt ends; 0 = it has none.
  std::int64_t attention_tail(std::int64_t prompt) const;

  /// Up to where groups with blocks of `block` tokens publish what is computed up to `end`: where hits are not fine,
  /// whole segments, and of a drafter's group one block more.
  std::int64_t published_end(std::int64_t end, std::int64_t block, bool drafter) const {
    if (fine_) return end;
    return std::min(end, end / segment_ * segment_ + (drafter && drops_ ? block : 0));
  }
  /// Are the recurrent groups those of a drafter that drops?
  bool state_drafters() const { return state_drafters_; }

  /// Where a junction cuts a chunk that passes it: at a whole number of blocks from the start, or opted in there.
  std::int64_t junction_stop(const ComputedChunk& chunk) const;
  /// Is the state kept that a chunk left at a multiple of B?
  bool keeps_boundary(std::int64_t at, std::int64_t prompt, std::int64_t junction) const;
  /// Is the state kept that was exported at `at` inside that chunk?
  bool keeps_exported(std::int64_t at, const ComputedChunk& chunk) const;
  /// Is the state kept that a chunk without export left inside a block or at the tail?
  bool keeps_inside(std::int64_t at, std::int64_t prompt, std::int64_t junction) const;
  /// Does a window of v blocks of `block` tokens keep its i-th block? `drafter`: is its group a drafter's.
  bool keeps_window_block(std::int64_t i, std::int64_t block, std::int64_t v, bool drafter, std::int64_t prompt,
                          std::int64_t junction) const;

  /// May the scheduler run a chunk to the end of the prompt in one piece, since its last state is exported inside?
  bool exports_to_the_end(const ComputedChunk& chunk) const;
  /// Where the state lies that a chunk exports; 0 = it exports none.
  std::int64_t exported_at(const ComputedChunk& chunk) const;

 private:
  bool can_export(std::int64_t start, std::int64_t end, std::int64_t at) const;
  // The boundary from which a repetition of the prompt, or one that goes on, resumes at multiples of S.
  bool is_replayed(std::int64_t at, std::int64_t prompt) const;

  std::int64_t block_, segment_, unit_;
  bool fine_;
  std::int64_t lookahead_;
  bool drops_, exports_, exact_junctions_, state_drafters_;
  std::int64_t alignment_;
  std::optional<std::int64_t> retention_;
};

/// Where a chunk ends that the budget lets end at `chunk.end`: at the first place where a state has to be kept. `start`
/// = the request waits for a larger budget. Source: vLLM 0.33 Scheduler, mode align.
/// Example: B 528, max_tokens 2048, n 2200 -> 1584, 2112, 2200; exporting, from 1584 on at once.
std::int64_t cut_chunk(const PrefixPositions& positions, const ComputedChunk& chunk, std::int64_t max_tokens);

}  // namespace hybridkv
