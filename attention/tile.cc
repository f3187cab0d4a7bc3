#include "attention/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hybridkv {

namespace {

/// scores = queries * keys^T, summed over short runs of channels: in float32 one sum over 256 channels puts the
/// result four times further from the exact one.
template <class Queries, class Keys, class Scores>
void score(const Queries& queries, const Keys& keys, Scores& scores) {
  constexpr Eigen::Index run = 64;
  scores.setZero();
  for (Eigen::Index channel = 0; channel < queries.cols(); channel += run) {
    const Eigen::Index count = std::min(run, queries.cols() - channel);
    scores.noalias() += queries.middleCols(channel, count) * keys.middleCols(channel, count).transpose();
  }
}

/// Turns the scores of one row into weights exp(score - max), 0 for masked keys. Returns max and sum.
template <class Real>
std::pair<Real, Real> to_weights(std::span<Real> scores, const Real* bias) {
  Real max = minus_infinity<Real>;
  bool has_key = false;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (bias[k] == minus_infinity<Real>) continue;
    has_key = true;
    scores[k] += bias[k];
    // A NaN score stays the maximum, so that it spoils this row and is not lost.
    if (!(scores[k] <= max)) max = scores[k];
    if (std::isnan(max)) break;
  }
  if (!has_key) {
    std::fill(scores.begin(), scores.end(), Real{0});
    return {minus_infinity<Real>, Real{0}};
  }
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    scores[k] = bias[k] == minus_infinity<Real> ? Real{0} : std::exp(scores[k] - max);
    sum += scores[k];
  }
  return {max, static_cast<Real>(sum)};
}

}  // namespace

template <class Real>
void KeyValueTile<Real>::reset(std::int64_t keys, std::int64_t head_size_k, std::int64_t head_size_v) {
  key.setZero(keys, head_size_k);
  value.setZero(keys, head_size_v);
  irregular.clear();
}

template <class Real>
void KeyValueTile<Real>::set_row(std::int64_t row, std::span<const float> key_row, std::span<const float> value_row) {
  using FloatRow = Eigen::Map<const Eigen::Matrix<float, 1, Eigen::Dynamic>>;
  key.row(row) = FloatRow(key_row.data(), key.cols()).template cast<Real>();
  const FloatRow values(value_row.data(), value.cols());
  if (values.allFinite()) value.row(row) = values.template cast<Real>();
  else irregular.push_back({row, values.template cast<Real>()});
}

template <class Real>
void load_new_tokens(const AttentionInputs& inputs, std::int64_t kv_head, KeyValueTile<Real>& tile) {
  const std::int64_t dk = inputs.head_size_k(), dv = inputs.head_size_v(), heads = inputs.num_kv_heads();
  tile.reset(inputs.num_tokens(), dk, dv);
  for (std::int64_t token = 0; token < inputs.num_tokens(); ++token) {
    const std::int64_t row = token * heads + kv_head;
    tile.set_row(token, inputs.key_new.subspan(row * dk, dk), inputs.value_new.subspan(row * dv, dv));
  }
}

template <class Real>
void load_blocks(const AttentionInputs& inputs, std::int64_t kv_head, std::span<const VisibleBlock> blocks,
                 KeyValueTile<Real>& tile) {
  const std::int64_t block_size = inputs.metadata->block_size_tokens, kernel_block = inputs.kernel_block_tokens();
  const auto num_blocks = static_cast<std::int64_t>(blocks.size());
  std::vector<float> key(inputs.head_size_k()), value(inputs.head_size_v());
  tile.reset(num_blocks * block_size, inputs.head_size_k(), inputs.head_size_v());
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    for (std::int64_t token = blocks[i].start; token < blocks[i].slots; ++token) {
      const std::int64_t slot = blocks[i].id * block_size + token;
      const std::int64_t index[] = {slot / kernel_block, slot % kernel_block, kv_head, 0};
      decode_row(inputs.key_codec, inputs.key.dtype, inputs.key.address(index), key);
      decode_row(inputs.value_codec, inputs.value.dtype, inputs.value.address(index), value);
      tile.set_row(i * block_size + token, key, value);
    }
  }
}

template <class Real>
RowMatrix<Real> load_queries(const AttentionInputs& inputs, std::int64_t kv_head) {
  const std::int64_t dk = inputs.head_size_k(), group = inputs.num_query_heads / inputs.num_kv_heads();
  RowMatrix<Real> queries(inputs.num_tokens() * group, dk);
  for (std::int64_t token = 0; token < inputs.num_tokens(); ++token) {
    const float* from = inputs.query.data() + (token * inputs.num_query_heads + kv_head * group) * dk;
    Real* to = queries.data() + token * group * dk;
    for (std::int64_t c = 0; c < group * dk; ++c) to[c] = static_cast<Real>(inputs.scale * from[c]);
  }
  return queries;
}

template <class Real>
void attend(const RowMatrix<Real>& queries, const KeyValueTile<Real>& tile, const TileTask<Real>& task,
            std::int64_t kv_head, TileScratch<Real>& scratch, Partial<Real>& into) {
  using Map = Eigen::Map<RowMatrix<Real>>;
  const std::int64_t group = queries.rows() / into.num_tokens, keys = task.num_keys;
  expects(keys <= tile.key.rows(), "the tile holds the keys");
  if (keys == 0) return;
  const std::int64_t step = std::max<std::int64_t>(1, TileScratch<Real>::max_scores / (group * keys));
  const auto grow = [](std::vector<Real>& buffer, std::int64_t size) {
    if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(size);
    return buffer.data();
  };
  for (std::int64_t done = 0; done < task.num_tokens; done += step) {
    const std::int64_t tokens = std::min(step, task.num_tokens - done), rows = tokens * group;
    const std::int64_t first_token = task.first_token + done;
    Map scores(grow(scratch.scores, rows * keys), rows, keys);
    Map weighted(grow(scratch.weighted, rows * into.head_size), rows, into.head_size);
    score(queries.middleRows(first_token * group, rows), tile.key.topRows(keys), scores);
    if (task.soft_cap > 0) scores = task.soft_cap * (scores / task.soft_cap).array().tanh();
    std::vector<std::pair<Real, Real>> max_and_sum(rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Real* bias = task.bias + (done + row / group) * task.bias_stride;
      max_and_sum[row] = to_weights(std::span<Real>(scores.row(row).data(), keys), bias);
    }
    weighted.noalias() = scores * tile.value.topRows(keys);
    for (const auto& irregular : tile.irregular) {
      if (irregular.row >= keys) break;
      for (std::int64_t row = 0; row < rows; ++row) {
        const Real* bias = task.bias + (done + row / group) * task.bias_stride;
        if (bias[irregular.row] != minus_infinity<Real>)
          weighted.row(row) += scores(row, irregular.row) * irregular.value;
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t head_row = (first_token + row / group) * into.num_heads + kv_head * group + row % group;
      into.merge_row(head_row, std::span<const Real>(weighted.row(row).data(), into.head_size), max_and_sum[row].first,
                     max_and_sum[row].second);
    }
  }
}

template struct KeyValueTile<float>;
template struct KeyValueTile<double>;
template void load_new_tokens(const AttentionInputs&, std::int64_t, KeyValueTile<float>&);
template void load_new_tokens(const AttentionInputs&, std::int64_t, KeyValueTile<double>&);
template void load_blocks(const AttentionInputs&, std::int64_t, std::span<const VisibleBlock>, KeyValueTile<float>&);
template void load_blocks(const AttentionInputs&, std::int64_t, std::span<const VisibleBlock>, KeyValueTile<double>&);
template RowMatrix<float> load_queries(const AttentionInputs&, std::int64_t);
template RowMatrix<double> load_queries(const AttentionInputs&, std::int64_t);
template void attend(const RowMatrix<float>&, const KeyValueTile<float>&, const TileTask<float>&, std::int64_t,
                     TileScratch<float>&, Partial<float>&);
template void attend(const RowMatrix<double>&, const KeyValueTile<double>&, const TileTask<double>&, std::int64_t,
                     TileScratch<double>&, Partial<double>&);

}  // namespace hybridkv
