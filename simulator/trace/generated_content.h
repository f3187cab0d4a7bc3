#pragma once

#include <cstdint>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Chain of the tokens that request number `index` of a trace generates behind `start_token` tokens whose last run has
/// `chain`: content of their own, which no other request has.
constexpr std::uint64_t generated_content(std::uint64_t chain, std::int64_t index, std::int64_t start_token) {
  return extend_chain(chain, ~static_cast<std::uint64_t>(index), start_token);
}

}  // namespace hybridkv
