#pragma once

#include <vector>

#include "verify/forward_network.h"

namespace hybridkv {

/// The network run dense and unpaged in float64 over one sequence, token contents given by position: no blocks, no
/// chunks, no cache, every state from the first token on. Returns (token, width), each row of RMS one.
/// What every paged run of the network is compared with.
std::vector<double> dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents);

}  // namespace hybridkv
