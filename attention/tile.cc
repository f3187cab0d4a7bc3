#include "attention/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hybridkv {

namespace {

/// Room for so many elements in a buffer that never shrinks.
template <class Real>
Real* grown(std::vector<Real>& buffer, std::int64_t size) {
  if (std::ssize(buffer) < size) buffer.resize(size);
  return buffer.data();
}

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
std::pair<Real, Real> to_weights(std::span<Real> scores, const Real* bias, std::span<const std::int64_t> keys) {
  Real max = minus_infinity<Real>;
  bool has_key = false;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (bias[keys[k]] == minus_infinity<Real>) continue;
    has_key = true;
    scores[k] += bias[keys[k]];
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
    scores[k] = bias[keys[k]] == minus_infinity<Real> ? Real{0} : std::exp(scores[k] - max);
    sum += scores[k];
  }
  return {max, static_cast<Real>(sum)};
}

/// Query tokens that go through the products together, and the keys that one of them sees, ascending.
struct TileRun {
  std::int64_t tokens = 0;
  std::vector<std::int64_t> keys;
};

/// The run that begins at token `first` of a task. The next token joins where the products of all with the keys of
/// all cost less than its own apart: tokens of one request see nearly the same keys, those of two requests of a
/// batch hardly any in common. Pre: `first` is a token of the task.
template <class Real>
TileRun run_from(std::int64_t first, const TileTask<Real>& task, std::int64_t group) {
  constexpr std::int64_t most_tokens = 64;
  constexpr std::int64_t rows_to_fetch = 16;  // A row of K and V that is fetched costs about so many products with it.
  std::vector<std::uint8_t> seen(task.num_keys, 0);
  const std::int64_t fit = std::max<std::int64_t>(1, TileScratch<Real>::max_scores / (group * task.num_keys));
  const std::int64_t most = std::min({most_tokens, task.num_tokens - first, fit});
  TileRun run;
  std::int64_t num_seen = 0;
  for (; run.tokens < most; ++run.tokens) {
    const Real* bias = task.bias + (first + run.tokens) * task.bias_stride;
    std::int64_t own = 0, added = 0;
    for (std::int64_t key = 0; key < task.num_keys; ++key) {
      const bool sees = bias[key] != minus_infinity<Real>;
      own += sees;
      added += sees && !seen[key];
    }
    const std::int64_t apart = run.tokens * group * num_seen + own * (group + rows_to_fetch);
    const std::int64_t joined = (run.tokens + 1) * group * (num_seen + added) + added * rows_to_fetch;
    if (run.tokens > 0 && joined > apart) break;
    for (std::int64_t key = 0; key < task.num_keys; ++key)
      if (bias[key] != minus_infinity<Real>) seen[key] = 1;
    num_seen += added;
  }
  for (std::int64_t key = 0; key < task.num_keys; ++key)
    if (seen[key]) run.keys.push_back(key);
  return run;
}

/// These rows of K or V, one behind the other: in place where they are, else fetched into `buffer`.
template <class Real>
Eigen::Map<const RowMatrix<Real>> rows_of(const RowMatrix<Real>& tile, std::span<const std::int64_t> rows,
                                          std::vector<Real>& buffer) {
  const std::int64_t channels = tile.cols(), count = std::ssize(rows);
  if (rows.back() - rows.front() + 1 == count) return {tile.row(rows.front()).data(), count, channels};
  for (std::int64_t row = 0; row < count; ++row)
    std::copy_n(tile.row(rows[row]).data(), channels, grown(buffer, count * channels) + row * channels);
  return {buffer.data(), count, channels};
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
void note_scratch(const std::vector<TileRoom<Real>>& rooms, std::int64_t head_size_k, std::int64_t head_size_v,
                  MemoryReport& memory) {
  std::int64_t tile_keys = 0, scores = 0, weighted = 0, keys = 0, values = 0;
  for (const TileRoom<Real>& room : rooms) {
    tile_keys += room.tile_keys;
    scores += std::ssize(room.scratch.scores);
    weighted += std::ssize(room.scratch.weighted);
    keys += std::ssize(room.scratch.keys);
    values += std::ssize(room.scratch.values);
  }
  memory.note_scratch<Real>("key_tile", {tile_keys, head_size_k});
  memory.note_scratch<Real>("value_tile", {tile_keys, head_size_v});
  memory.note_scratch<Real>("scores", {scores});
  memory.note_scratch<Real>("weighted_values", {weighted});
  memory.note_scratch<Real>("keys_in_a_row", {keys});
  memory.note_scratch<Real>("values_in_a_row", {values});
}

template <class Real>
void attend(const RowMatrix<Real>& queries, const KeyValueTile<Real>& tile, const TileTask<Real>& task,
            std::int64_t kv_head, TileScratch<Real>& scratch, Partial<Real>& into) {
  using Map = Eigen::Map<RowMatrix<Real>>;
  const std::int64_t group = queries.rows() / into.num_tokens;
  expects(task.num_keys <= tile.key.rows(), "the tile holds the keys");
  if (task.num_keys == 0) return;
  TileRun run;
  for (std::int64_t done = 0; done < task.num_tokens; done += run.tokens) {
    run = run_from(done, task, group);
    if (run.keys.empty()) continue;
    const std::int64_t rows = run.tokens * group, keys = std::ssize(run.keys);
    const std::int64_t first_token = task.first_token + done;
    const auto bias_of = [&](std::int64_t row) { return task.bias + (done + row / group) * task.bias_stride; };
    Map scores(grown(scratch.scores, rows * keys), rows, keys);
    Map weighted(grown(scratch.weighted, rows * into.head_size), rows, into.head_size);
    score(queries.middleRows(first_token * group, rows), rows_of(tile.key, run.keys, scratch.keys), scores);
    if (task.soft_cap > 0) scores = task.soft_cap * (scores / task.soft_cap).array().tanh();
    std::vector<std::pair<Real, Real>> max_and_sum(rows);
    for (std::int64_t row = 0; row < rows; ++row)
      max_and_sum[row] = to_weights(std::span<Real>(scores.row(row).data(), keys), bias_of(row), run.keys);
    weighted.noalias() = scores * rows_of(tile.value, run.keys, scratch.values);
    for (const auto& irregular : tile.irregular) {
      const auto place = std::lower_bound(run.keys.begin(), run.keys.end(), irregular.row);
      if (place == run.keys.end() || *place != irregular.row) continue;
      for (std::int64_t row = 0; row < rows; ++row)
        if (bias_of(row)[irregular.row] != minus_infinity<Real>)
          weighted.row(row) += scores(row, place - run.keys.begin()) * irregular.value;
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
template void note_scratch(const std::vector<TileRoom<float>>&, std::int64_t, std::int64_t, MemoryReport&);
template void note_scratch(const std::vector<TileRoom<double>>&, std::int64_t, std::int64_t, MemoryReport&);
template void attend(const RowMatrix<float>&, const KeyValueTile<float>&, const TileTask<float>&, std::int64_t,
                     TileScratch<float>&, Partial<float>&);
template void attend(const RowMatrix<double>&, const KeyValueTile<double>&, const TileTask<double>&, std::int64_t,
                     TileScratch<double>&, Partial<double>&);

}  // namespace hybridkv
