#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mamba/recurrent_layer.h"
#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "verify/layout/cache_codec.h"

namespace hybridkv {

/// Weights of the attention of one layer; rows are outputs.
struct AttentionWeights {
  AttentionGeometry geometry;  ///< of the plan, but head sizes count channels in a format with scales too
  KvCodec key_codec, value_codec;  ///< how K and V are cached; of a latent both the same
  std::vector<float> query;   ///< (Hq * dk, width)
  std::vector<float> key;     ///< (Hkv * dk, width); mla: the whole latent; empty where another layer's are read
  std::vector<float> value;   ///< (Hkv * dv, width); mla: empty, V is part of the latent
  std::vector<float> output;  ///< (width, Hq * dv)
  bool operator==(const AttentionWeights&) const = default;
};

/// Weights of the recurrence of one layer.
struct RecurrentProjection {
  RecurrentLayer layer;
  DType conv_dtype = DType::fp32;  ///< of the convolution's state, so of its inputs; fp32, so no rounding, without one
  DType ssm_dtype = DType::fp32;   ///< of the recurrent state
  std::vector<float> input;   ///< (input_width, width)
  std::vector<float> output;  ///< (width, output_width)
  bool operator==(const RecurrentProjection&) const = default;
};

/// One layer: what reads the cache. All parts read the same normalised row and all are added to it (Falcon-H1).
struct ForwardLayer {
  std::int64_t number = 0;  ///< of the model; MTP layers go on counting
  std::optional<std::int64_t> reads;  ///< set: the layer whose K and V its attention reads, without any of its own
  std::optional<AttentionWeights> attention;
  std::optional<AttentionWeights> cross;  ///< to the encoder
  std::optional<RecurrentProjection> recurrent;
  bool operator==(const ForwardLayer&) const = default;
};

/// A random network with the caches of a model: embedding, layers of x + mixer(norm(x)), a last norm. Layers without a
/// cache are left out. Output weights are divided by the square root of the number of layers: what one layer gets wrong
/// shows in the result, what all of them round does not grow from layer to layer.
///
/// Activations that are cached (K, V and inputs of convolutions) are rounded to what they are read back as, by dtype or
/// format with scales, wherever they are computed, so that storing them loses nothing. States are not: an engine that
/// stores them narrower than fp32 rounds them, how often is its business.
struct ForwardNetwork {
  std::int64_t width = 0;
  std::uint64_t seed = 0;
  std::int64_t encoder_tokens = 0;  ///< of every request, where layers attend to them
  std::vector<ForwardLayer> layers;
  bool operator==(const ForwardNetwork&) const = default;
};

/// Draws the weights of all cached layers of a plan on one rank. Deterministic in the seed.
/// Where nothing here computes the values of the cache's format, the network has sizes but cannot be run.
/// Pre: the plan is one of this model. Query heads that the model leaves open are taken to be as many as KV heads.
ForwardNetwork make_network(const ModelSpec& model, const CachePlan& plan, std::int64_t width, std::uint64_t seed);

/// The embedding of the token with that content at that position: (width), of length sqrt(width).
std::vector<double> embedding(const ForwardNetwork& network, std::uint64_t content, std::int64_t position);

/// What the encoder puts out for a request whose first token has that content: (encoder_tokens, width), rows of length
/// sqrt(width). It stands for all that an encoder reads, which differs from request to request as the prompts do.
std::vector<double> encoder_output(const ForwardNetwork& network, std::uint64_t content);

/// Rotates pairs of channels of every head of a token by an angle of its position, so that order matters to attention;
/// for mla only those behind the first `unrotated` channels of a head. Source: Su et al., RoFormer, 2021.
/// Pre: `heads` holds whole heads of `head_size` channels.
template <class Real>
void rotate(std::span<Real> heads, std::int64_t head_size, std::int64_t unrotated, std::int64_t position);

extern template void rotate<float>(std::span<float>, std::int64_t, std::int64_t, std::int64_t);
extern template void rotate<double>(std::span<double>, std::int64_t, std::int64_t, std::int64_t);

/// The channels of a head of this layer that are not rotated: kv_lora_rank for mla; all of cross attention, whose
/// tokens have no places among the request's; else none.
std::int64_t unrotated_channels(const AttentionGeometry& attention);

/// Divides a row of a recurrence's outputs by sqrt(1 + its mean square), as the output norms of these models keep them
/// in bounds, but without magnifying rows that are near zero.
template <class Real>
void limit_outputs(std::span<Real> row);

extern template void limit_outputs<float>(std::span<float>);
extern template void limit_outputs<double>(std::span<double>);

/// Scale of the scores: 1 / sqrt(head_size_k).
double score_scale(const AttentionGeometry& attention);

}  // namespace hybridkv
