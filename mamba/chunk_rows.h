#pragma once

#include <cstdint>
#include <vector>

#include "mamba/recurrent_weights.h"

namespace hybridkv {

/// A state while it is computed with, dense.
struct RunningState {
  std::vector<float> conv;  ///< (K-1, channel)
  std::vector<float> ssm;
};

/// Inputs and outputs of one chunk, a row for each token.
struct ChunkRows {
  std::int64_t tokens;
  const float* inputs;
  std::int64_t input_width;
  float* outputs;
  std::int64_t output_width;

  const float* input(std::int64_t token) const { return inputs + token * input_width; }
  float* output(std::int64_t token) const { return outputs + token * output_width; }
};

/// Columns [first, first + width) of the inputs, one row after the other.
std::vector<float> columns(const ChunkRows& rows, std::int64_t first, std::int64_t width);

/// The first columns of the inputs, as many as the convolution has channels, through it and silu; its state moves on.
std::vector<float> convolve_and_activate(const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

/// Scales a vector to the length `scale`, however short it is.
void make_unit_length(float* values, std::int64_t count, float scale);

}  // namespace hybridkv
