#pragma once

#include <cstdint>

#include "transfer/side.h"

namespace hybridkv {

/// The most tokens, up to `tokens`, behind which both sides look for a prefix: a multiple of both match units; 0: none.
std::int64_t common_prefix_tokens(const TransferSide& from, const TransferSide& to, std::int64_t tokens);

/// Throws SpecError with path "to.KEY" where a destination that keeps so many tokens as a cached prefix, for requests
/// to come, would have no state that one of them can go on from: it finds no prefix at all, or none that ends there.
/// The message names the prefixes that both sides have. A request that goes on itself needs none of it: its state is
/// the one behind its last token, wherever that is. Source: the prefix rules of the plans (PrefixPlan).
void check_kept_prefix(const TransferSide& from, const TransferSide& to, std::int64_t tokens);

}  // namespace hybridkv
