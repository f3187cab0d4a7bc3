#pragma once

#include <span>
#include <vector>

namespace hybridkv {

/// Causal depthwise convolution of one layer over consecutive tokens.
///
/// `inputs` (token, channel), `history` (K-1, channel) the inputs before them, oldest first; `weights` (K, channel),
/// `bias` (channel). Returns (token, channel) and leaves the last K-1 inputs in `history`.
std::vector<float> causal_conv(std::span<const float> inputs, std::vector<float>& history,
                               std::span<const float> weights, std::span<const float> bias);

}  // namespace hybridkv
