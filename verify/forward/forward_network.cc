#include "verify/forward/forward_network.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"

namespace hybridkv {

namespace {

/// Rows of variance 1/width, so that what goes in with RMS one comes out with about RMS one.
std::vector<float> draw(std::uint64_t seed, std::int64_t outputs, std::int64_t inputs) {
  const float reach = std::sqrt(3.0f / static_cast<float>(inputs));
  std::vector<float> weights(static_cast<std::size_t>(outputs * inputs));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = reach * unit_value(mix(seed, i));
  return weights;
}

AttentionWeights attention_weights(AttentionGeometry geometry, std::int64_t width, std::uint64_t seed) {
  geometry.query_heads = std::max(geometry.query_heads, geometry.kv_heads);
  const bool latent = geometry.kind == AttentionKind::mla;
  // Activations have RMS one; scales of K and V differ, so that taking one for the other shows.
  const KvCodec key_codec = cache_codec(geometry, 8), value_codec = latent ? key_codec : cache_codec(geometry, 6);
  if (has_values(geometry)) {
    geometry.head_size_k = decoded_channels(key_codec, geometry.head_size_k);
    geometry.head_size_v = decoded_channels(value_codec, geometry.head_size_v);
  }
  const std::int64_t values = geometry.query_heads * geometry.head_size_v;
  return {geometry, key_codec, value_codec, draw(mix(seed, 1), geometry.query_heads * geometry.head_size_k, width),
          draw(mix(seed, 2), geometry.kv_heads * geometry.head_size_k, width),
          draw(mix(seed, 3), latent ? 0 : geometry.kv_heads * geometry.head_size_v, width),
          draw(mix(seed, 4), width, values)};
}

/// The layers of attention that read the K and V of others, with as many of their query heads as a rank has of the
/// layers that they read.
void add_readers(const ModelSpec& model, std::int64_t width, std::uint64_t seed,
                 std::map<std::int64_t, ForwardLayer>& layers) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::optional<SharedKv>& shared = model.layers[i].shared;
    if (!shared) continue;
    const auto number = static_cast<std::int64_t>(i);
    AttentionGeometry geometry = layers.at(shared->source).attention->geometry;
    const std::int64_t of_source = model.layers[static_cast<std::size_t>(shared->source)].attention->query_heads;
    if (of_source > 0) geometry.query_heads = shared->query_heads * geometry.query_heads / of_source;
    AttentionWeights weights = layers.at(shared->source).attention.value();
    const AttentionWeights own = attention_weights(geometry, width, mix(seed, 2 * i));
    weights.geometry.query_heads = own.geometry.query_heads;
    weights.query = own.query;
    weights.output = own.output;
    weights.key.clear();
    weights.value.clear();
    layers[number].number = number;
    layers[number].reads = shared->source;
    layers[number].attention = std::move(weights);
  }
}

}  // namespace

ForwardNetwork make_network(const ModelSpec& model, const CachePlan& plan, std::int64_t width, std::uint64_t seed) {
  ForwardNetwork network{.width = width, .seed = seed};
  std::map<std::int64_t, ForwardLayer> layers;
  for (const SpecPlan& spec : plan.specs) {
    if (spec.draft || spec.auxiliary) continue;
    for (const std::int64_t number : spec.layers) {
      ForwardLayer& layer = layers[number];
      layer.number = number;
      if (spec.is_cross()) {
        network.encoder_tokens = spec.encoder_tokens;
        layer.cross = attention_weights(*spec.attention, width, mix(seed ^ 0xc0550, 2 * number));
        continue;
      }
      if (spec.attention) {
        layer.attention = attention_weights(*spec.attention, width, mix(seed, 2 * number));
        continue;
      }
      const std::uint64_t own = mix(seed, 2 * number + 1);
      const RecurrentSpec& recurrent = *model.layers[number].recurrent;
      layer.recurrent = {.layer = random_layer(recurrent, mix(own, 1)),
                         .input = draw(mix(own, 2), input_width(recurrent), width),
                         .output = draw(mix(own, 3), width, output_width(recurrent))};
      for (const StateTensor& tensor : spec.state->tensors)
        (tensor.name == "conv" ? layer.recurrent->conv_dtype : layer.recurrent->ssm_dtype) = tensor.dtype;
    }
  }
  add_readers(model, width, seed, layers);
  const float share = 1 / std::sqrt(static_cast<float>(layers.size()));
  for (auto& [number, layer] : layers) {
    if (layer.attention)
      for (float& weight : layer.attention->output) weight *= share;
    if (layer.cross)
      for (float& weight : layer.cross->output) weight *= share;
    if (layer.recurrent)
      for (float& weight : layer.recurrent->output) weight *= share;
    network.layers.push_back(std::move(layer));
  }
  return network;
}

std::vector<double> embedding(const ForwardNetwork& network, std::uint64_t content, std::int64_t position) {
  std::vector<double> row(static_cast<std::size_t>(network.width));
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = unit_value(mix(mix(network.seed ^ 0xe3b0u, content), mix(static_cast<std::uint64_t>(position), i)));
    sum += row[i] * row[i];
  }
  const double scale = std::sqrt(static_cast<double>(row.size()) / sum);
  for (double& value : row) value = static_cast<float>(value * scale);
  return row;
}

std::vector<double> encoder_output(const ForwardNetwork& network, std::uint64_t content) {
  std::vector<double> rows;
  for (std::int64_t token = 0; token < network.encoder_tokens; ++token) {
    const std::vector<double> row = embedding(network, mix(content, 0xe2c0de), token);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

template <class Real>
void rotate(std::span<Real> heads, std::int64_t head_size, std::int64_t unrotated, std::int64_t position) {
  const std::int64_t pairs = (head_size - unrotated) / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double angle =
        static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs));
    const Real cosine = static_cast<Real>(std::cos(angle)), sine = static_cast<Real>(std::sin(angle));
    for (std::int64_t at = unrotated + 2 * i; at < std::ssize(heads); at += head_size) {
      Real &a = heads[at], &b = heads[at + 1];
      const Real rotated = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = rotated;
    }
  }
}

template void rotate<float>(std::span<float>, std::int64_t, std::int64_t, std::int64_t);
template void rotate<double>(std::span<double>, std::int64_t, std::int64_t, std::int64_t);

template <class Real>
void limit_outputs(std::span<Real> row) {
  Real sum = 0;
  for (const Real value : row) sum += value * value;
  const Real scale = 1 / std::sqrt(1 + sum / static_cast<Real>(row.size()));
  for (Real& value : row) value *= scale;
}

template void limit_outputs<float>(std::span<float>);
template void limit_outputs<double>(std::span<double>);

std::int64_t unrotated_channels(const AttentionGeometry& attention) {
  if (attention.kind == AttentionKind::cross) return attention.head_size_k;
  return attention.kind == AttentionKind::mla ? attention.head_size_v : 0;
}

double score_scale(const AttentionGeometry& attention) {
  return 1.0 / std::sqrt(static_cast<double>(attention.head_size_k));
}

}  // namespace hybridkv
