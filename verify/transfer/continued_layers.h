#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "verify/transfer/transfer_continue.h"

namespace hybridkv {

/// The layers that go on at the destination, and how many of each kind.
struct ContinuedLayers {
  std::set<ModelTensor> names;
  std::map<std::string, std::int64_t> states, attention;  ///< by kind
};

/// Of all layers that these ranks hold the first `most` of each kind; 0: all.
ContinuedLayers continued_layers(std::span<const TransferRank> ranks, std::int64_t most);

/// "4 new tokens in 45 gdn layers, 1 new token in 15 full_attention layers": attention goes on for one token.
std::string continued_text(const ContinuedLayers& layers, std::int64_t tokens);

}  // namespace hybridkv
