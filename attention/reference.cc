#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attention/kv_codec_ref.h"

namespace hybridkv {

namespace {

/// One head of K or V of one request: (position, channel).
struct GatheredHead {
  std::int64_t channels;
  std::vector<double> values;
  const double* row(std::int64_t position) const { return values.data() + position * channels; }
};

/// Positions before `first` are not read; their rows are 0.
GatheredHead gather(const TensorView& cache, const KvCodec& codec, const CommonAttentionMetadata& metadata,
                    std::int64_t request, std::int64_t head, std::int64_t first) {
  const std::int64_t block_size = metadata.block_size_tokens, kernel_block = cache.layout.extent("token");
  GatheredHead result{decoded_channels(codec, cache.layout.extent("channel")), {}};
  result.values.resize(first * result.channels);
  for (std::int64_t position = first; position < metadata.seq_lens[request]; ++position) {
    const std::int64_t slot = metadata.block(request, position / block_size) * block_size + position % block_size;
    const std::byte* row = cache.address({slot / kernel_block, slot % kernel_block, head, 0});
    for (std::int64_t channel = 0; channel < result.channels; ++channel)
      result.values.push_back(decoded_value(codec, cache.dtype, row, result.channels, channel));
  }
  return result;
}

/// How scores come about and what joins them in the denominator.
struct ScoreRule {
  double scale;
  double soft_cap;  ///< 0 = none
  double sink;      ///< -inf = none
};

// Two channels at a time, each in a sum of its own: the compiler does not see by itself that it may.
using Floats = float __attribute__((vector_size(2 * sizeof(float))));
using Doubles = double __attribute__((vector_size(2 * sizeof(double))));

template <class Pair, class Number>
Pair pair_at(const Number* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

/// In four sums: with one each product would wait for the one before.
double dot(const float* query, const double* key, std::int64_t channels) {
  Doubles sums[2] = {};
  std::int64_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    sums[0] += __builtin_convertvector(pair_at<Floats>(query + c), Doubles) * pair_at<Doubles>(key + c);
    sums[1] += __builtin_convertvector(pair_at<Floats>(query + c + 2), Doubles) * pair_at<Doubles>(key + c + 2);
  }
  for (; c < channels; ++c) sums[0][0] += static_cast<double>(query[c]) * key[c];
  return (sums[0][0] + sums[0][1]) + (sums[1][0] + sums[1][1]);
}

/// out += weight * row.
void add_weighted(double weight, const double* row, std::int64_t channels, double* out) {
  std::int64_t c = 0;
  for (; c + 2 <= channels; c += 2) {
    const Doubles sums = pair_at<Doubles>(out + c) + weight * pair_at<Doubles>(row + c);
    std::memcpy(out + c, &sums, sizeof sums);
  }
  for (; c < channels; ++c) out[c] += weight * row[c];
}

/// Attention of one query row over the keys at these positions.
void attend(const float* query, const ScoreRule& rule, const std::vector<std::int64_t>& positions,
            const GatheredHead& key, const GatheredHead& value, double* out, double* lse) {
  *lse = rule.sink;
  std::fill(out, out + value.channels, 0.0);
  if (positions.empty()) return;

  std::vector<double> scores;
  for (const std::int64_t position : positions) {
    const double score = rule.scale * dot(query, key.row(position), key.channels);
    scores.push_back(rule.soft_cap > 0 ? rule.soft_cap * std::tanh(score / rule.soft_cap) : score);
  }
  const double maximum = std::max(rule.sink, *std::max_element(scores.begin(), scores.end()));
  double sum = std::exp(rule.sink - maximum);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double weight = std::exp(scores[i] - maximum);
    sum += weight;
    add_weighted(weight, value.row(positions[i]), value.channels, out);
  }
  for (std::int64_t c = 0; c < value.channels; ++c) out[c] /= sum;
  *lse = maximum + std::log(sum);
}

}  // namespace

AttentionOutput<double> reference_attention(const AttentionInputs& inputs, const KeyFilter& sees) {
  check_inputs(inputs);
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  const std::int64_t heads = inputs.num_query_heads, group = heads / inputs.num_kv_heads();
  AttentionOutput<double> result;
  result.out.resize(inputs.num_tokens() * heads * inputs.head_size_v());
  result.lse.resize(inputs.num_tokens() * heads);

  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    for (std::int64_t kv_head = 0; kv_head < inputs.num_kv_heads(); ++kv_head) {
      const std::int64_t first = std::min(metadata.seq_lens[request],
                                          inputs.mask.first_visible(metadata.position(request, 0)));
      const GatheredHead key = gather(inputs.key, inputs.key_codec, metadata, request, kv_head, first);
      const GatheredHead value = gather(inputs.value, inputs.value_codec, metadata, request, kv_head, first);
      for (std::int64_t i = 0; i < metadata.query_len(request); ++i) {
        const std::int64_t token = metadata.query_start_loc[request] + i;
        const std::int64_t last =
            metadata.causal ? metadata.position(request, i) : metadata.seq_lens[request] - 1;
        std::vector<std::int64_t> positions;
        for (std::int64_t position = inputs.mask.first_visible(metadata.position(request, i)); position <= last;
             ++position)
          if (!sees || sees(token, position)) positions.push_back(position);
        for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
          const std::int64_t row = token * heads + head;
          const double sink = inputs.sinks.empty() ? minus_infinity<double> : inputs.sinks[head];
          attend(inputs.query.data() + row * inputs.head_size_k(), {inputs.scale, inputs.soft_cap, sink}, positions,
                 key, value, result.out.data() + row * inputs.head_size_v(), result.lse.data() + row);
        }
      }
    }
  }
  return result;
}

}  // namespace hybridkv
