#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
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

/// How scores come about.
struct ScoreRule {
  double scale;
  double soft_cap;  ///< 0 = none
};

// Four channels at a time, each in a sum of its own: with one sum each product would wait for the one before, and the
// compiler does not see by itself that it may. Where registers hold two, it computes the same in two.
using Doubles = double __attribute__((vector_size(4 * sizeof(double))));
constexpr std::int64_t at_once = 4;

// So many queries meet a key, and so many rows of V an output row, at a time: K and V are more than the nearer caches
// hold, and no sum waits for that of another row. What joins a sum, and in which order, does not depend on it.
constexpr std::int64_t rows_at_once = 4;

// What is inlined into a function for wider registers is compiled for these, without a fused multiply and add: the
// result is to the bit that of the baseline.
#define HYBRIDKV_INLINED [[gnu::always_inline]] inline

/// The products of `count` neighbouring queries with one key, `stride` apart.
template <std::int64_t count>
HYBRIDKV_INLINED void dot(const double* queries, const double* key, std::int64_t channels, double* products,
                          std::int64_t stride) {
  Doubles sums[count] = {};
  std::int64_t c = 0;
  for (; c + at_once <= channels; c += at_once) {
    Doubles k;
    std::memcpy(&k, key + c, sizeof k);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      Doubles q;
      std::memcpy(&q, queries + i * channels + c, sizeof q);
      sums[i] += q * k;
    }
  }
  for (; c < channels; ++c) {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) sums[i][0] += queries[i * channels + c] * key[c];
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i)
    products[i * stride] = (sums[i][0] + sums[i][1]) + (sums[i][2] + sums[i][3]);
}

/// out += weight * row, one row after the other.
template <std::int64_t count>
HYBRIDKV_INLINED void add_weighted(const double* weights, const double* const* rows, std::int64_t channels,
                                   double* out) {
  std::int64_t c = 0;
  for (; c + at_once <= channels; c += at_once) {
    Doubles sums;
    std::memcpy(&sums, out + c, sizeof sums);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      Doubles values;
      std::memcpy(&values, rows[i] + c, sizeof values);
      sums += weights[i] * values;
    }
    std::memcpy(out + c, &sums, sizeof sums);
  }
  for (; c < channels; ++c)
    for (std::int64_t i = 0; i < count; ++i) out[c] += weights[i] * rows[i][c];
}

/// The query heads of one token that read one KV head, and what is computed of them; kept from token to token.
struct ReferenceRows {
  std::int64_t heads = 0;
  std::vector<double> sinks;    ///< (head) what joins the scores in the denominator; -inf = none
  std::vector<double> queries;  ///< (head, channel of K), in float64
  std::vector<double> scores;   ///< (head, key), in whose place come the weights
};

/// Products of all heads with the keys of these rows.
HYBRIDKV_INLINED void score(const std::vector<const double*>& keys, std::int64_t channels, ReferenceRows& rows) {
  const std::int64_t num_keys = std::ssize(keys);
  for (std::int64_t key = 0; key < num_keys; ++key) {
    std::int64_t head = 0;
    for (; head + rows_at_once <= rows.heads; head += rows_at_once)
      dot<rows_at_once>(rows.queries.data() + head * channels, keys[key], channels,
                        rows.scores.data() + head * num_keys + key, num_keys);
    for (; head < rows.heads; ++head)
      dot<1>(rows.queries.data() + head * channels, keys[key], channels,
             rows.scores.data() + head * num_keys + key, num_keys);
  }
}

/// Adds the weighted values of these rows to those of all heads.
HYBRIDKV_INLINED void add_values(const std::vector<const double*>& values, std::int64_t channels,
                                 const ReferenceRows& rows, double* out) {
  const std::int64_t num_keys = std::ssize(values);
  std::int64_t key = 0;
  for (; key + rows_at_once <= num_keys; key += rows_at_once)
    for (std::int64_t head = 0; head < rows.heads; ++head)
      add_weighted<rows_at_once>(rows.scores.data() + head * num_keys + key, values.data() + key, channels,
                                 out + head * channels);
  for (; key < num_keys; ++key)
    for (std::int64_t head = 0; head < rows.heads; ++head)
      add_weighted<1>(rows.scores.data() + head * num_keys + key, values.data() + key, channels, out + head * channels);
}

#if defined(__x86_64__)
[[gnu::target("avx")]] void score_wide(const std::vector<const double*>& keys, std::int64_t channels,
                                       ReferenceRows& rows) {
  score(keys, channels, rows);
}
[[gnu::target("avx")]] void add_values_wide(const std::vector<const double*>& values, std::int64_t channels,
                                            const ReferenceRows& rows, double* out) {
  add_values(values, channels, rows, out);
}
bool has_wide_registers() {
  static const bool has = is_available(SimdPath::avx2);
  return has;
}
#endif
#undef HYBRIDKV_INLINED

/// The rows of a head at these positions.
std::vector<const double*> rows_at(const GatheredHead& head, const std::vector<std::int64_t>& positions) {
  std::vector<const double*> rows;
  for (const std::int64_t position : positions) rows.push_back(head.row(position));
  return rows;
}

/// Makes weights of the scores of a head. Returns the largest, sink included, and the sum of the weights.
std::pair<double, double> to_weights(const ScoreRule& rule, double sink, std::span<double> scores) {
  for (double& product : scores) {
    const double score = rule.scale * product;
    product = rule.soft_cap > 0 ? rule.soft_cap * std::tanh(score / rule.soft_cap) : score;
  }
  const double maximum = std::max(sink, *std::max_element(scores.begin(), scores.end()));
  double sum = std::exp(sink - maximum);
  for (double& score : scores) {
    score = std::exp(score - maximum);
    sum += score;
  }
  return {maximum, sum};
}

/// Attention of the rows over the keys at these positions; `out` is (head, channel of V), `lse` (head).
void attend(const ScoreRule& rule, const std::vector<std::int64_t>& positions, const GatheredHead& key,
            const GatheredHead& value, ReferenceRows& rows, double* out, double* lse) {
  std::copy(rows.sinks.begin(), rows.sinks.end(), lse);
  std::fill(out, out + rows.heads * value.channels, 0.0);
  if (positions.empty()) return;

  const std::vector<const double*> keys = rows_at(key, positions), values = rows_at(value, positions);
  rows.scores.resize(static_cast<std::size_t>(rows.heads) * keys.size());
#if defined(__x86_64__)
  if (has_wide_registers()) score_wide(keys, key.channels, rows);
  else
#endif
    score(keys, key.channels, rows);
  std::vector<double> sums;
  for (std::int64_t head = 0; head < rows.heads; ++head) {
    const auto of_head = std::span(rows.scores).subspan(static_cast<std::size_t>(head) * keys.size(), keys.size());
    const auto [maximum, sum] = to_weights(rule, rows.sinks[head], of_head);
    lse[head] = maximum + std::log(sum);
    sums.push_back(sum);
  }
#if defined(__x86_64__)
  if (has_wide_registers()) add_values_wide(values, value.channels, rows, out);
  else
#endif
    add_values(values, value.channels, rows, out);
  for (std::int64_t i = 0; i < rows.heads * value.channels; ++i) out[i] /= sums[i / value.channels];
}

}  // namespace

AttentionOutput<double> reference_attention(const AttentionInputs& inputs, const KeyFilter& sees) {
  check_inputs(inputs);
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  const std::int64_t heads = inputs.num_query_heads, group = heads / inputs.num_kv_heads();
  AttentionOutput<double> result;
  result.out.resize(inputs.num_tokens() * heads * inputs.head_size_v());
  result.lse.resize(inputs.num_tokens() * heads);
  ReferenceRows rows{.heads = group, .sinks = {}, .queries = {}, .scores = {}};

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
        const std::int64_t row = token * heads + kv_head * group;
        rows.sinks.assign(group, minus_infinity<double>);
        if (!inputs.sinks.empty()) std::copy_n(inputs.sinks.begin() + kv_head * group, group, rows.sinks.begin());
        const float* queries = inputs.query.data() + row * inputs.head_size_k();
        rows.queries.assign(queries, queries + group * inputs.head_size_k());
        attend({inputs.scale, inputs.soft_cap}, positions, key, value, rows,
               result.out.data() + row * inputs.head_size_v(), result.lse.data() + row);
      }
    }
  }
  return result;
}

}  // namespace hybridkv
