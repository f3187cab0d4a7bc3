#pragma once

#include <cstdint>
#include <vector>

#include "transfer/routes.h"

namespace hybridkv {

/// Tokens that lie in one row of slots on both sides: slot = kernel block * tokens of it + place in it.
struct TokenCut {
  std::int64_t from_slot = 0;
  std::int64_t to_slot = 0;
  std::int64_t tokens = 0;
  bool operator==(const TokenCut&) const = default;
};

/// The first token that has to move: behind those that are there, and of layers with a window behind those that neither
/// side looks back on.
std::int64_t first_moved_token(const TokenTables& tables, std::int64_t tokens, std::int64_t present_tokens);

/// The tokens from there on, cut where a block (or kernel block) of either side ends and the next does not follow.
std::vector<TokenCut> cut_tokens(const TokenTables& tables, const TransferRequest& request);

}  // namespace hybridkv
