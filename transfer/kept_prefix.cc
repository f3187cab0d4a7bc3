#include "transfer/kept_prefix.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/number_text.h"

namespace hybridkv {

namespace {

/// Least common multiple; 0 where it leaves 64 bits, which no prefix is as long as.
std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  const std::int64_t step = a / std::gcd(a, b);
  return step > std::numeric_limits<std::int64_t>::max() / b ? 0 : step * b;
}

}  // namespace

std::int64_t common_prefix_tokens(const TransferSide& from, const TransferSide& to, std::int64_t tokens) {
  if (from.prefix_unit == 0 || to.prefix_unit == 0) return 0;
  const std::int64_t unit = common_multiple(from.prefix_unit, to.prefix_unit);
  return unit == 0 ? 0 : tokens / unit * unit;
}

void check_kept_prefix(const TransferSide& from, const TransferSide& to, std::int64_t tokens) {
  if (to.prefix_unit == 0)
    throw SpecError("to.engine.cache_mode",
                    fmt::format("the destination keeps states for no prefix (mode {}), so nobody would ever find the "
                                "{}; take mode align there, or move the request itself (--as request)",
                                to_string(to.stages.front().cache_mode), human_plural(tokens, "token")));
  if (tokens % to.prefix_unit == 0) return;
  const std::int64_t common = common_prefix_tokens(from, to, tokens);
  const std::string both =
      common > 0 ? fmt::format("the longest prefix that both sides look for has {}", common)
                 : fmt::format("the source looks for them at multiples of {}, and no prefix of these is one of both",
                               from.prefix_unit);
  throw SpecError("to.engine.prefix_match_unit_tokens",
                  fmt::format("a state behind {} is of no use to a destination that looks for prefixes at "
                              "multiples of {}: K and V would be found, and no state to go on from; {}. Move {}, or "
                              "the request itself (--as request)",
                              human_plural(tokens, "token"), to.prefix_unit, both,
                              common > 0 ? fmt::format("those (--tokens {})", common)
                                         : "between sides of equal blocks (engine.block_size_tokens)"));
}

}  // namespace hybridkv
