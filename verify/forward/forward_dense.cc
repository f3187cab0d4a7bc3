#include "verify/forward/forward_dense.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attention/key_mask.h"
#include "attention/kv_codec_ref.h"
#include "base/convert.h"
#include "base/random.h"
#include "mamba/recurrent_reference.h"
#include "verify/layout/drawn_words.h"

namespace hybridkv {

namespace {

using Reals = std::vector<double>;

/// Of fp32: half of what neighbours of 1 lie apart.
constexpr double unit_roundoff = 0x1p-24;
/// A few runs are draws of what roundings can do; another draw may be larger.
constexpr double worst_draws = 3;

Reals normalised(const Reals& x, std::int64_t width) {
  Reals result(x.size());
  for (std::size_t first = 0; first < x.size(); first += width) {
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += x[first + i] * x[first + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(width) + 1e-12);
    for (std::int64_t i = 0; i < width; ++i) result[first + i] = x[first + i] * scale;
  }
  return result;
}

using WideMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Rows of a larger matrix: those of one head.
using WideHeads = Eigen::Map<const WideMatrix, 0, Eigen::OuterStride<>>;

/// Every row of `x` times the transposed weights (outputs, inputs).
Reals project(const Reals& x, const std::vector<float>& weights, std::int64_t inputs) {
  const std::int64_t tokens = std::ssize(x) / inputs, outputs = std::ssize(weights) / inputs;
  Reals result(static_cast<std::size_t>(tokens * outputs));
  const WideMatrix wide =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(weights.data(), outputs,
                                                                                             inputs)
          .cast<double>();
  Eigen::Map<WideMatrix>(result.data(), tokens, outputs).noalias() =
      Eigen::Map<const WideMatrix>(x.data(), tokens, inputs) * wide.transpose();
  return result;
}

void rotate_heads(Reals& rows, std::int64_t heads, const AttentionGeometry& attention) {
  const std::int64_t size = attention.head_size_k, token = heads * size;
  for (std::int64_t position = 0; position < std::ssize(rows) / token; ++position)
    rotate(std::span(rows).subspan(position * token, token), size, unrotated_channels(attention), position);
}

/// How values are cached.
struct Storage {
  DType dtype;
  KvCodec codec = {};
  std::int64_t channels = 1;  ///< of a row that is encoded together
};

/// What the values, each moved by its share of `shifts` (row), are read back as.
Reals read_back(const Storage& storage, std::span<const double> values, std::span<const double> shifts, double sign) {
  const std::size_t row = values.size() / shifts.size();
  std::vector<float> shifted(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) shifted[i] = static_cast<float>(values[i] + sign * shifts[i / row]);
  if (!storage.codec.has_scales()) {
    round_elements(storage.dtype, shifted);
    return Reals(shifted.begin(), shifted.end());
  }
  const auto channels = static_cast<std::size_t>(storage.channels);
  std::vector<std::byte> stored(
      static_cast<std::size_t>(stored_bytes(storage.codec, storage.dtype, storage.channels)));
  Reals result(values.size());
  for (std::size_t first = 0; first < values.size(); first += channels) {
    encode_row(storage.codec, storage.dtype, std::span(shifted).subspan(first, channels), stored.data());
    for (std::size_t i = 0; i < channels; ++i)
      result[first + i] = decoded_value(storage.codec, storage.dtype, stored.data(), storage.channels,
                                        static_cast<std::int64_t>(i));
  }
  return result;
}

/// One of the runs that go side by side, layer by layer.
enum class Draw {
  plain,        ///< float64
  drift,        ///< every operation off by as much as fp32 may be; what is cached is rounded as in `plain`
  shaken,       ///< the same, and all that is in doubt goes the other way
  half_shaken,  ///< about every second time, states too
};

struct World {
  Draw draw;
  Reals x{};
  std::uint64_t noise = 0;   ///< seed of its errors, and of what it rounds otherwise
  std::vector<float> drawn{};  ///< of its errors, those drawn last

  bool is_exact() const { return draw == Draw::plain; }
  bool rounds_alone() const { return draw == Draw::shaken || draw == Draw::half_shaken; }
  /// Does what is in doubt go the other way this time?
  bool shakes() {
    if (draw == Draw::half_shaken) return unit_value(++noise) < 0;
    return draw == Draw::shaken;
  }

  /// Errors of fp32: of each value up to `units` units in the last place of what its row's values are like.
  void err(Reals& values, std::size_t row, double units) {
    if (is_exact()) return;
    for (std::size_t first = 0; first < values.size(); first += row) {
      double sum = 0;
      for (std::size_t i = first; i < first + row; ++i) sum += values[i] * values[i];
      const double reach = units * unit_roundoff * std::sqrt(sum / static_cast<double>(row));
      const std::span<const float> errors = draw_errors(row);
      for (std::size_t i = 0; i < row; ++i) values[first + i] += reach * errors[i];
    }
  }
  /// The same, of each value by itself.
  void err_each(std::span<double> values, double units) {
    if (is_exact()) return;
    const std::span<const float> errors = draw_errors(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= 1 + units * unit_roundoff * errors[i];
  }
  /// The next so many of its errors, each within 1.
  std::span<const float> draw_errors(std::size_t count) {
    drawn.resize(count);
    draw_unit_values(noise + 1, drawn);
    noise += count;
    return drawn;
  }
};

/// What the sum of so many products is off by in units of the last place of its value: partial sums, each rounded,
/// grow as roundings do that know nothing of each other. Source: Higham and Mary, A New Approach to Probabilistic
/// Rounding Error Analysis, 2019.
double units_of_sum(std::int64_t products) { return 1 + std::sqrt(static_cast<double>(products)); }

/// Operations of a norm, a rotation or a gate: a few, each rounded.
constexpr double units_of_few = 4;

/// The runs of one sequence.
class DenseForward {
 public:
  explicit DenseForward(const ForwardNetwork& network) : network_(network) {
    for (const Draw draw : {Draw::plain, Draw::drift, Draw::drift, Draw::shaken, Draw::half_shaken, Draw::half_shaken})
      worlds_.push_back({.draw = draw, .noise = mix(network.seed, worlds_.size()) >> 1});
  }

  DenseRun run(const std::vector<std::uint64_t>& contents);

 private:
  /// K and V of a layer in every world.
  struct Rows {
    std::vector<Reals> keys, values;
  };
  Rows rows_of(const AttentionWeights& weights, const std::vector<Reals>& h);
  void attend(const ForwardLayer& layer, const std::vector<Reals>& h);
  void attend_to_encoder(const AttentionWeights& weights, const std::vector<Reals>& h);
  void recur(const RecurrentProjection& weights, const std::vector<Reals>& h);
  Reals attention(const AttentionWeights& weights, Reals& query, const Reals& key, const Reals& values,
                  World& world) const;
  void run_states(const RecurrentProjection& weights, Reals& inputs, Reals& out, World& world) const;
  Reals projected(const Reals& x, const std::vector<float>& weights, std::int64_t inputs, World& world) const;
  Reals doubts(const std::vector<Reals>& values) const;
  void round_to(const Storage& storage, std::vector<Reals>& values);

  const ForwardNetwork& network_;
  std::vector<World> worlds_;
  std::size_t tokens_ = 0;
  Reals encoder_;  // (token, width)
  std::map<std::int64_t, Rows> rows_;  // by layer
};

Reals DenseForward::projected(const Reals& x, const std::vector<float>& weights, std::int64_t inputs,
                             World& world) const {
  Reals result = project(x, weights, inputs);
  if (!result.empty()) world.err(result, result.size() / tokens_, units_of_sum(inputs));
  return result;
}

/// How far a right engine may be from the values of each token before they are rounded: `worst_draws` times as far as
/// the runs that drift, and, once values were rounded otherwise, as far as the half shaken runs, in the mean square.
Reals DenseForward::doubts(const std::vector<Reals>& values) const {
  const std::size_t row = values.front().size() / tokens_;
  const auto half_shaken = std::count_if(worlds_.begin(), worlds_.end(),
                                         [](const World& world) { return world.draw == Draw::half_shaken; });
  Reals drift(tokens_), shaken(tokens_);
  for (std::size_t at = 1; at < worlds_.size(); ++at)
    for (std::size_t i = 0; i < values[at].size(); ++i) {
      const double off = std::abs(values[at][i] - values.front()[i]);
      if (worlds_[at].draw == Draw::half_shaken) shaken[i / row] += off * off;
      if (worlds_[at].draw == Draw::drift) drift[i / row] = std::max(drift[i / row], off);
    }
  for (std::size_t token = 0; token < tokens_; ++token)
    drift[token] = worst_draws * drift[token] + std::sqrt(shaken[token] / static_cast<double>(row * half_shaken));
  return drift;
}

/// Rounds what is cached, in every run. What `doubts` may round otherwise is in doubt.
void DenseForward::round_to(const Storage& storage, std::vector<Reals>& values) {
  if (values.front().empty()) return;
  const Reals reach = doubts(values), none(tokens_);
  const bool narrow = storage.codec.has_scales() || storage.dtype != DType::fp32;
  for (std::size_t at = 0; at < worlds_.size(); ++at) {
    World& world = worlds_[at];
    if (narrow && world.draw == Draw::drift) {
      values[at] = values.front();
      continue;
    }
    Reals nearest = read_back(storage, values[at], none, 1);
    if (narrow && world.rounds_alone()) {
      const Reals below = read_back(storage, values[at], reach, -1), above = read_back(storage, values[at], reach, 1);
      for (std::size_t i = 0; i < nearest.size(); ++i)
        if (below[i] != above[i] && world.shakes()) nearest[i] = below[i] == nearest[i] ? above[i] : below[i];
    }
    values[at] = std::move(nearest);
  }
}

Reals DenseForward::attention(const AttentionWeights& weights, Reals& query, const Reals& key, const Reals& values,
                             World& world) const {
  const AttentionGeometry& a = weights.geometry;
  const auto tokens = static_cast<std::int64_t>(tokens_);
  const std::int64_t value_stride = a.kind == AttentionKind::mla ? a.head_size_k : a.head_size_v;
  const KeyMask mask = key_mask(a.kind, a.window_tokens);
  world.err(query, a.head_size_k, units_of_sum(a.head_size_k));  // of scores, which are linear in it
  Reals out(static_cast<std::size_t>(tokens * a.query_heads * a.head_size_v));
  const std::int64_t rows = a.kind == AttentionKind::cross ? network_.encoder_tokens : tokens;
  // Head by head over all tokens: what a token does not see is computed too, and still takes less time than token by
  // token.
  WideMatrix weight(tokens, rows);
  for (std::int64_t head = 0; head < a.query_heads; ++head) {
    const std::int64_t kv_head = head / (a.query_heads / a.kv_heads);
    const WideHeads keys(key.data() + kv_head * a.head_size_k, rows, a.head_size_k,
                         Eigen::OuterStride<>(a.kv_heads * a.head_size_k));
    const WideHeads seen(values.data() + kv_head * value_stride, rows, a.head_size_v,
                         Eigen::OuterStride<>(a.kv_heads * value_stride));
    const WideHeads queries(query.data() + head * a.head_size_k, tokens, a.head_size_k,
                            Eigen::OuterStride<>(a.query_heads * a.head_size_k));
    weight.noalias() = queries * keys.transpose();
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t first = mask.first_visible(token);
      const std::int64_t count = a.kind == AttentionKind::cross ? rows : token + 1 - first;
      auto all = weight.row(token);
      auto visible = all.segment(first, count).array();
      visible = (score_scale(a) * visible).exp();
      visible /= visible.sum();
      all.head(first).setZero();
      all.tail(rows - first - count).setZero();
    }
    Eigen::Map<WideMatrix, 0, Eigen::OuterStride<>>(out.data() + head * a.head_size_v, tokens, a.head_size_v,
                                                  Eigen::OuterStride<>(a.query_heads * a.head_size_v))
        .noalias() = weight * seen;
  }
  world.err(out, static_cast<std::size_t>(a.head_size_v),
            units_of_sum(a.kind == AttentionKind::cross ? network_.encoder_tokens : tokens));
  return projected(out, weights.output, a.query_heads * a.head_size_v, world);
}

void add(Reals& x, const Reals& part) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += part[i];
}

DenseForward::Rows DenseForward::rows_of(const AttentionWeights& weights, const std::vector<Reals>& h) {
  const AttentionGeometry& a = weights.geometry;
  Rows rows;
  for (std::size_t at = 0; at < worlds_.size(); ++at) {
    World& world = worlds_[at];
    rows.keys.push_back(projected(h[at], weights.key, network_.width, world));
    rows.values.push_back(projected(h[at], weights.value, network_.width, world));
    rotate_heads(rows.keys.back(), a.kv_heads, a);
    world.err_each(rows.keys.back(), units_of_few);
  }
  round_to({a.dtype, weights.key_codec, a.head_size_k}, rows.keys);
  round_to({a.dtype, weights.value_codec, a.head_size_v}, rows.values);
  return rows;
}

void DenseForward::attend(const ForwardLayer& layer, const std::vector<Reals>& h) {
  const AttentionWeights& weights = *layer.attention;
  const AttentionGeometry& a = weights.geometry;
  std::vector<Reals> queries;
  for (std::size_t at = 0; at < worlds_.size(); ++at) {
    queries.push_back(projected(h[at], weights.query, network_.width, worlds_[at]));
    rotate_heads(queries.back(), a.query_heads, a);
  }
  if (!layer.reads) rows_[layer.number] = rows_of(weights, h);
  const Rows& rows = rows_.at(layer.reads.value_or(layer.number));
  const std::vector<Reals>& values = a.kind == AttentionKind::mla ? rows.keys : rows.values;
  for (std::size_t at = 0; at < worlds_.size(); ++at)
    add(worlds_[at].x, attention(weights, queries[at], rows.keys[at], values[at], worlds_[at]));
}

/// Every token looks at all of the encoder's, whose K and V have as many rows.
void DenseForward::attend_to_encoder(const AttentionWeights& weights, const std::vector<Reals>& h) {
  std::vector<Reals> queries;
  for (std::size_t at = 0; at < worlds_.size(); ++at)
    queries.push_back(projected(h[at], weights.query, network_.width, worlds_[at]));
  const std::size_t tokens = std::exchange(tokens_, static_cast<std::size_t>(network_.encoder_tokens));
  const Rows rows = rows_of(weights, std::vector<Reals>(worlds_.size(), encoder_));
  tokens_ = tokens;
  for (std::size_t at = 0; at < worlds_.size(); ++at)
    add(worlds_[at].x, attention(weights, queries[at], rows.keys[at], rows.values[at], worlds_[at]));
}

/// Token by token where the state is to be off or rounded after each of them.
void DenseForward::run_states(const RecurrentProjection& weights, Reals& inputs, Reals& out, World& world) const {
  const RecurrentLayer& layer = weights.layer;
  RecurrentStateRef state = initial_state(layer.spec);
  if (world.is_exact()) return run_reference(layer, inputs, state, out);
  world.err_each(inputs, units_of_few);  // of what the recurrence first computes of them
  const std::size_t in = input_width(layer.spec), row = output_width(layer.spec);
  const auto store = [](DType dtype, std::vector<double>& values) {
    std::vector<float> stored(values.begin(), values.end());
    round_elements(dtype, stored);
    std::copy(stored.begin(), stored.end(), values.begin());
  };
  for (std::size_t token = 0; token < tokens_; ++token) {
    run_reference(layer, std::span(inputs).subspan(token * in, in), state, std::span(out).subspan(token * row, row));
    world.err_each(state.ssm, units_of_few);
    if (!world.rounds_alone() || !world.shakes()) continue;
    store(weights.conv_dtype, state.conv);
    store(weights.ssm_dtype, state.ssm);
  }
  world.err_each(out, units_of_few);
}

void DenseForward::recur(const RecurrentProjection& weights, const std::vector<Reals>& h) {
  std::vector<Reals> inputs;
  for (std::size_t at = 0; at < worlds_.size(); ++at)
    inputs.push_back(projected(h[at], weights.input, network_.width, worlds_[at]));
  round_to({weights.conv_dtype}, inputs);
  const std::int64_t row = output_width(weights.layer.spec);
  for (std::size_t at = 0; at < worlds_.size(); ++at) {
    Reals out(tokens_ * static_cast<std::size_t>(row));
    run_states(weights, inputs[at], out, worlds_[at]);
    for (std::size_t first = 0; first < out.size(); first += row) limit_outputs(std::span(out).subspan(first, row));
    add(worlds_[at].x, projected(out, weights.output, row, worlds_[at]));
  }
}

DenseRun DenseForward::run(const std::vector<std::uint64_t>& contents) {
  tokens_ = contents.size();
  Reals embedded;
  for (std::size_t position = 0; position < contents.size(); ++position) {
    const std::vector<double> row = embedding(network_, contents[position], static_cast<std::int64_t>(position));
    embedded.insert(embedded.end(), row.begin(), row.end());
  }
  for (World& world : worlds_) world.x = embedded;
  if (!contents.empty()) encoder_ = encoder_output(network_, contents.front());
  const auto norms = [&] {
    std::vector<Reals> h;
    for (World& world : worlds_) {
      h.push_back(normalised(world.x, network_.width));
      world.err_each(h.back(), units_of_few);
    }
    return h;
  };
  for (const ForwardLayer& layer : network_.layers) {
    const std::vector<Reals> h = norms();
    if (layer.attention) attend(layer, h);
    if (layer.cross) attend_to_encoder(*layer.cross, h);
    if (layer.recurrent) recur(*layer.recurrent, h);
  }
  std::vector<Reals> results = norms();
  DenseRun run{std::move(results.front())};
  for (std::size_t at = 1; at < results.size(); ++at)
    for (std::size_t i = 0; i < run.rows.size(); ++i)
      run.may_differ = std::max(run.may_differ, worst_draws * std::abs(results[at][i] - run.rows[i]));
  return run;
}

}  // namespace

DenseRun dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents) {
  return DenseForward(network).run(contents);
}

}  // namespace hybridkv
