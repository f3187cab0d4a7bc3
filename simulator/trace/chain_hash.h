#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hybridkv {

/// Identity of a prefix: two prompts have equal keys at a length exactly when they agree on every token of it.
///
/// "Exactly" up to a 64-bit hash: among the 10^6 blocks of a large pool, 2.5 * 10^8 look-ups (10 million
/// requests) meet a false match with probability 1.4 * 10^-5. Never 0, so that 0 can mean "no key".
using PrefixKey = std::uint64_t;

__extension__ typedef unsigned __int128 Product128;  // the only 128-bit type of the language extension

/// Mixes two words into one: folded 64 x 64 -> 128 bit products, applied twice. Not commutative.
constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b) {
  const auto fold = [](std::uint64_t x, std::uint64_t y) {
    const Product128 product = static_cast<Product128>(x) * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const std::uint64_t once = fold(a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL);
  return fold(once ^ 0x8ebc6af09c88c6e3ULL, 0x589965cc75374cc3ULL ^ b);
}

/// A stretch of a prompt whose tokens come from one content id: the tokens up to `end_token` (excluded) from the
/// end of the run before. A prompt is a list of runs, so it is never expanded into tokens.
struct TokenRun {
  std::int64_t end_token = 0;  ///< ascending over the runs of a prompt; the last one is the prompt's length
  std::uint64_t chain = 0;     ///< chain of this run's id and start and all ids before it
  bool operator==(const TokenRun&) const = default;
};

/// Chain before the first run of a prompt.
inline constexpr std::uint64_t empty_chain = 0x9e3779b97f4a7c15ULL;

/// Chain of a prompt that goes on with content `id` at token `start_token`: token content is a function of (id,
/// position), so the chain stands for all tokens up to any point inside the run.
constexpr std::uint64_t extend_chain(std::uint64_t chain, std::uint64_t id, std::int64_t start_token) {
  return mix64(chain, mix64(id, static_cast<std::uint64_t>(start_token)));
}

/// Key of the first `tokens` tokens, which end inside the run of that chain.
constexpr PrefixKey prefix_key(std::uint64_t chain, std::int64_t tokens) {
  const PrefixKey key = mix64(chain, static_cast<std::uint64_t>(tokens));
  return key == 0 ? 1 : key;
}

/// The chain hash of a prompt at every multiple of `unit` tokens: keys[i] stands for (i + 1) * unit tokens.
/// Pre: unit >= 1. Replaces the content of `keys`. Example: runs ending at 512 and 700, unit 300 -> keys of 300, 600.
/// With `lookahead` tokens a key stands for so many tokens more, and is there only where the prompt has them.
void prefix_keys(std::span<const TokenRun> runs, std::int64_t unit, std::vector<PrefixKey>& keys,
                 std::int64_t lookahead = 0);

}  // namespace hybridkv
