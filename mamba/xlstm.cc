#include "mamba/xlstm.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

/// What keeps a normaliser of zero finite.
constexpr double least_normaliser = 1e-6;

using GateSums = Eigen::VectorXd;
using HeadMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Where the parts of one head begin in a row.
struct HeadColumns {
  std::int64_t q, k, v, i, f;
  HeadColumns(const XlstmSpec& spec, std::int64_t head)
      : q(head * spec.key_head_dim),
        k(spec.heads * spec.key_head_dim + q),
        v(2 * spec.heads * spec.key_head_dim + head * spec.value_head_dim),
        i(spec.heads * (2 * spec.key_head_dim + spec.value_head_dim) + head),
        f(i + spec.heads) {}
};

/// So many columns of the rows of a chunk as a matrix, one column of ones behind them where asked.
HeadMatrix head_matrix(const ChunkRows& rows, std::int64_t first, std::int64_t width, bool with_ones = false) {
  HeadMatrix part = HeadMatrix::Ones(rows.tokens, width + (with_ones ? 1 : 0));
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    std::copy_n(rows.input(token) + first, width, part.row(token).data());
  return part;
}

/// The logs of what weighs the tokens of a chunk, in double, since they grow with it.
struct ChunkGates {
  GateSums forgotten;  ///< running sum of the logs of forget gates
  GateSums input;      ///< input gate, as if it came before all of them
  GateSums scale;      ///< m after each token
};

ChunkGates chunk_gates(const ChunkRows& rows, const HeadColumns& at, float decay_log, float bias, float scale) {
  ChunkGates gates{GateSums(rows.tokens), GateSums(rows.tokens), GateSums(rows.tokens)};
  double sum = 0, largest = scale;
  for (std::int64_t token = 0; token < rows.tokens; ++token) {
    sum -= softplus(decay_log - rows.input(token)[at.f]);
    gates.forgotten[token] = sum;
    gates.input[token] = rows.input(token)[at.i] + bias - sum;
    largest = std::max(largest, gates.input[token]);
    gates.scale[token] = sum + largest;
  }
  return gates;
}

/// All tokens of one head by products of matrices: the normaliser is one value more, whose input is one everywhere.
void run_xlstm_head(const XlstmSpec& spec, const ChunkRows& rows, const HeadColumns& at, float decay_log,
                    float bias, float* state, float* output) {
  const std::int64_t values = spec.value_head_dim, keys = spec.key_head_dim;
  float& scale = state[(values + 1) * keys];
  Eigen::Map<HeadMatrix> memory(state, values + 1, keys);
  const ChunkGates gates = chunk_gates(rows, at, decay_log, bias, scale);
  const HeadMatrix query = head_matrix(rows, at.q, keys) / std::sqrt(static_cast<float>(keys));
  const HeadMatrix key = head_matrix(rows, at.k, keys), value = head_matrix(rows, at.v, values, true);
  HeadMatrix weights = query * key.transpose();
  for (std::int64_t t = 0; t < rows.tokens; ++t) {
    for (std::int64_t s = 0; s <= t; ++s)
      weights(t, s) *= static_cast<float>(std::exp(gates.forgotten[t] + gates.input[s] - gates.scale[t]));
    weights.row(t).tail(rows.tokens - t - 1).setZero();
  }
  const Eigen::VectorXf kept = (gates.forgotten.array() + double{scale} - gates.scale.array()).exp().cast<float>();
  HeadMatrix read = weights * value;
  read += kept.asDiagonal() * (query * memory.transpose());
  for (std::int64_t t = 0; t < rows.tokens; ++t) {
    const float least = std::exp(static_cast<float>(-gates.scale[t]));
    const float norm = std::max(std::abs(read(t, values)), least) + static_cast<float>(least_normaliser);
    for (std::int64_t i = 0; i < values; ++i) output[t * rows.output_width + i] = read(t, i) / norm;
  }
  const std::int64_t last = rows.tokens - 1;
  const Eigen::VectorXf added =
      (gates.input.array() + (gates.forgotten[last] - gates.scale[last])).exp().cast<float>();
  memory *= kept[last];
  memory.noalias() += value.transpose() * added.asDiagonal() * key;
  scale = static_cast<float>(gates.scale[last]);
}

}  // namespace

const FamilyTable<XlstmSpec>& family_of(const XlstmSpec&) {
  static const FamilyTable<XlstmSpec> table{
      .name = "xlstm",
      .doc = "An mLSTM layer (xLSTM).",
      .fields = {{.name = "heads",
                  .doc = "heads H of the whole model",
                  .member = &XlstmSpec::heads,
                  .published_doc = "heads of the memory",
                  .published = {{"xlstm", {"num_heads"}}}},
                 {.name = "key_head_dim",
                  .doc = "channels Dk of q and k of one head",
                  .member = &XlstmSpec::key_head_dim},
                 {.name = "value_head_dim",
                  .doc = "channels Dv of v of one head",
                  .member = &XlstmSpec::value_head_dim}},
      .ssm_dtype = DType::fp32,
      .least_decay_log = -6,  // minus the bias of the forget gate
      .largest_decay_log = -1};
  return table;
}

std::int64_t head_numbers(const XlstmSpec& layer) {
  return (Checked(layer.value_head_dim) + 1) * layer.key_head_dim + 1;
}

StateSpec state_of(const XlstmSpec& layer, const StateContext& context) {
  const Axis heads{"head", share_of_rank(layer.heads, "heads", "xlstm", context), 0};
  return place_state_tensors(
      {{"ssm", context.ssm_dtype, Layout({heads, {"number", head_numbers(layer), 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const XlstmSpec& layer, const StateContext& context) {
  return {split_axis_rule("ssm", "head", "heads", layer.heads, context),
          {"ssm", "number", "(value dim + 1) * key dim + 1: memory, normaliser and scale",
           {{"value dim", layer.value_head_dim}, {"key dim", layer.key_head_dim}}}};
}

LayerSizes sizes_of(const XlstmSpec& layer) {
  const std::int64_t keys = layer.heads * layer.key_head_dim, values = layer.heads * layer.value_head_dim;
  return {.input = 2 * keys + values + 2 * layer.heads, .output = values, .decay_log = layer.heads,
          .step_bias = layer.heads};
}

std::vector<ChannelSection> sections_of(const XlstmSpec&) { return {}; }

XlstmSpec part_of_rank(XlstmSpec layer, std::int64_t ranks) {
  layer.heads /= ranks;
  return layer;
}

XlstmSpec reduced(XlstmSpec layer, const Reduction& reduction) {
  layer.heads = reduction.heads(layer.heads);
  layer.key_head_dim = reduction.channels(layer.key_head_dim);
  layer.value_head_dim = reduction.channels(layer.value_head_dim);
  return layer;
}

void run_token(const XlstmSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  const std::int64_t keys = spec.key_head_dim, values = spec.value_head_dim;
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const HeadColumns at(spec, head);
    const std::span<double> memory = std::span(state.ssm).subspan(head * head_numbers(spec), head_numbers(spec));
    const reference::Row q = input.subspan(at.q, keys), k = input.subspan(at.k, keys);
    const double forget = std::log(sigmoid(input[at.f] - weights.decay_log[head])), before = memory.back();
    const double gate = input[at.i] + weights.step_bias[head], after = std::max(forget + before, gate);
    memory.back() = after;
    std::vector<double> read;
    for (std::int64_t row = 0; row <= values; ++row) {
      const double value = row < values ? input[at.v + row] : 1;
      const std::span<double> of_keys = memory.subspan(row * keys, keys);
      for (std::int64_t i = 0; i < keys; ++i)
        of_keys[i] = std::exp(forget + before - after) * of_keys[i] + std::exp(gate - after) * value * k[i];
      read.push_back(reference::dot(of_keys, q) / std::sqrt(static_cast<double>(keys)));
    }
    const double norm = std::max(std::abs(read.back()), std::exp(-after)) + least_normaliser;
    for (std::int64_t i = 0; i < values; ++i) output[head * values + i] = read[i] / norm;
  }
}

void run_chunk(const XlstmSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  for (std::int64_t head = 0; head < spec.heads; ++head)
    run_xlstm_head(spec, rows, HeadColumns(spec, head), weights.decay_log[head], weights.step_bias[head],
                   state.ssm.data() + head * head_numbers(spec), rows.outputs + head * spec.value_head_dim);
}

}  // namespace hybridkv
