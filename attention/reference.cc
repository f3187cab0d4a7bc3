#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attention/kv_codec_ref.h"
#include "attention/simd_path.h"

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

// Four channels at a time, each in a sum of its own: with one sum each product would wait for the one before, and the
// compiler does not see by itself that it may. Where registers hold two, it computes the same in two.
using Doubles = double __attribute__((vector_size(4 * sizeof(double))));
constexpr std::int64_t at_once = 4;

// What is inlined into a function for wider registers is compiled for these, without a fused multiply and add: the
// result is to the bit that of the baseline.
#define HYBRIDKV_INLINED [[gnu::always_inline]] inline

HYBRIDKV_INLINED double dot(const double* query, const double* key, std::int64_t channels) {
  Doubles sums = {};
  std::int64_t c = 0;
  for (; c + at_once <= channels; c += at_once) {
    Doubles q, k;
    std::memcpy(&q, query + c, sizeof q);
    std::memcpy(&k, key + c, sizeof k);
    sums += q * k;
  }
  for (; c < channels; ++c) sums[0] += query[c] * key[c];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// out += weight * row.
HYBRIDKV_INLINED void add_weighted(double weight, const double* row, std::int64_t channels, double* out) {
  std::int64_t c = 0;
  for (; c + at_once <= channels; c += at_once) {
    Doubles sums, values;
    std::memcpy(&sums, out + c, sizeof sums);
    std::memcpy(&values, row + c, sizeof values);
    sums += weight * values;
    std::memcpy(out + c, &sums, sizeof sums);
  }
  for (; c < channels; ++c) out[c] += weight * row[c];
}

/// What is computed of a query row, kept from row to row.
struct RowRoom {
  std::vector<double> query;   ///< (channel of K), in float64
  std::vector<double> scores;  ///< of the keys
};

/// Attention of one query row over the keys at these positions.
HYBRIDKV_INLINED void attend_row(const ScoreRule& rule, const std::vector<std::int64_t>& positions,
                                 const GatheredHead& key, const GatheredHead& value, RowRoom& room, double* out,
                                 double* lse) {
  *lse = rule.sink;
  std::fill(out, out + value.channels, 0.0);
  if (positions.empty()) return;

  room.scores.clear();
  for (const std::int64_t position : positions) {
    const double score = rule.scale * dot(room.query.data(), key.row(position), key.channels);
    room.scores.push_back(rule.soft_cap > 0 ? rule.soft_cap * std::tanh(score / rule.soft_cap) : score);
  }
  const double maximum = std::max(rule.sink, *std::max_element(room.scores.begin(), room.scores.end()));
  double sum = std::exp(rule.sink - maximum);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double weight = std::exp(room.scores[i] - maximum);
    sum += weight;
    add_weighted(weight, value.row(positions[i]), value.channels, out);
  }
  for (std::int64_t c = 0; c < value.channels; ++c) out[c] /= sum;
  *lse = maximum + std::log(sum);
}
#undef HYBRIDKV_INLINED

#if defined(__x86_64__)
[[gnu::target("avx")]] void attend_wide(const ScoreRule& rule, const std::vector<std::int64_t>& positions,
                                        const GatheredHead& key, const GatheredHead& value, RowRoom& room, double* out,
                                        double* lse) {
  attend_row(rule, positions, key, value, room, out, lse);
}
#endif

void attend(const ScoreRule& rule, const std::vector<std::int64_t>& positions, const GatheredHead& key,
            const GatheredHead& value, RowRoom& room, double* out, double* lse) {
#if defined(__x86_64__)
  static const bool has_wide_registers = is_available(SimdPath::avx2);
  if (has_wide_registers) return attend_wide(rule, positions, key, value, room, out, lse);
#endif
  attend_row(rule, positions, key, value, room, out, lse);
}

}  // namespace

AttentionOutput<double> reference_attention(const AttentionInputs& inputs, const KeyFilter& sees) {
  check_inputs(inputs);
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  const std::int64_t heads = inputs.num_query_heads, group = heads / inputs.num_kv_heads();
  AttentionOutput<double> result;
  result.out.resize(inputs.num_tokens() * heads * inputs.head_size_v());
  result.lse.resize(inputs.num_tokens() * heads);
  RowRoom room;

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
          const float* query = inputs.query.data() + row * inputs.head_size_k();
          room.query.assign(query, query + inputs.head_size_k());
          attend({inputs.scale, inputs.soft_cap, sink}, positions, key, value, room,
                 result.out.data() + row * inputs.head_size_v(), result.lse.data() + row);
        }
      }
    }
  }
  return result;
}

}  // namespace hybridkv
