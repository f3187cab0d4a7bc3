#include "mamba/rwkv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/head_recurrence.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"
#include "mamba/token_shift.h"

namespace hybridkv {

namespace {

/// The version whose decays come with a token, and the one that also moves what a state holds from key to key.
constexpr std::int64_t decays_by_token = 6, moves_keys = 7;

/// Parts of a row behind what is shifted.
enum RowOfHeads : std::int64_t { receptance_row, key_row, value_row, decay_row, removal_row, rate_row };

void check_rwkv(const RwkvSpec& layer, const std::string& path) {
  if (layer.version <= moves_keys) return;
  throw SpecError(path + ".version", fmt::format("is {}, but 5, 6 and 7 are known", layer.version));
}

/// The log of the decay of one channel.
template <class Real>
Real rwkv_log_decay(const RwkvSpec& spec, Real number) {
  const auto least = static_cast<Real>(0.6065306597126334);  // exp(-1/2), by which a token of version 7 decays at most
  return spec.version < moves_keys ? -std::exp(number) : -least * sigmoid(number);
}

/// The rows of one head of one token, and its weights.
class HeadOfToken {
 public:
  HeadOfToken(const RwkvSpec& spec, const RecurrentWeights& weights, reference::Row input, std::int64_t head)
      : spec_(spec), weights_(weights), input_(input), head_(head) {}

  reference::Row part(RowOfHeads row) const {
    return input_.subspan(2 * spec_.hidden_size + (row * spec_.heads + head_) * spec_.head_dim, spec_.head_dim);
  }
  std::vector<double> decay() const {
    std::vector<double> all;
    for (std::int64_t i = 0; i < spec_.head_dim; ++i) {
      const double own = weights_.decay_log[head_ * spec_.head_dim + i];
      all.push_back(
          std::exp(rwkv_log_decay(spec_, own + (spec_.version < decays_by_token ? 0 : part(decay_row)[i]))));
    }
    return all;
  }
  double bonus(std::int64_t i) const { return weights_.skip[head_ * spec_.head_dim + i]; }

 private:
  const RwkvSpec& spec_;
  const RecurrentWeights& weights_;
  reference::Row input_;
  std::int64_t head_;
};

/// Versions 5 and 6: the token's own key and value count by a bonus, and enter the state after it was read.
void average_token(const HeadOfToken& head, std::span<double> state, std::span<double> output) {
  const reference::Row r = head.part(receptance_row), k = head.part(key_row), v = head.part(value_row);
  const std::vector<double> decay = head.decay();
  const std::int64_t size = std::ssize(k);
  for (std::int64_t value = 0; value < size; ++value) {
    output[value] = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      double& s = state[value * size + i];
      output[value] += r[i] * (s + head.bonus(i) * k[i] * v[value]);
      s = decay[i] * s + k[i] * v[value];
    }
  }
}

/// Version 7: what the state holds along one key is removed at a rate of its own for each channel.
void move_token(const HeadOfToken& head, std::span<double> state, std::span<double> output) {
  const reference::Row k = head.part(key_row), v = head.part(value_row), rate = head.part(rate_row);
  const std::vector<double> decay = head.decay(), removed = reference::unit_length(head.part(removal_row));
  const std::int64_t size = std::ssize(k);
  for (std::int64_t value = 0; value < size; ++value) {
    const std::span<double> row = state.subspan(value * size, size);
    const double found = reference::dot(row, removed);
    for (std::int64_t i = 0; i < size; ++i)
      row[i] = decay[i] * row[i] - found * removed[i] * sigmoid(rate[i]) + k[i] * v[value];
    output[value] = reference::dot(row, head.part(receptance_row));
  }
}

/// One part of the rows of one head, (token, channel).
std::vector<float> head_rows(const RwkvSpec& spec, const ChunkRows& rows, RowOfHeads row, std::int64_t head) {
  return columns(rows, 2 * spec.hidden_size + (row * spec.heads + head) * spec.head_dim, spec.head_dim);
}

std::vector<float> log_decays(const RwkvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
                              std::int64_t head) {
  std::vector<float> logs(static_cast<std::size_t>(rows.tokens * spec.head_dim));
  if (spec.version >= decays_by_token) logs = head_rows(spec, rows, decay_row, head);
  for (std::int64_t at = 0; at < std::ssize(logs); ++at)
    logs[at] = rwkv_log_decay(spec, weights.decay_log[head * spec.head_dim + at % spec.head_dim] + logs[at]);
  return logs;
}

/// Versions 5 and 6. The chunked form gives what a query reads after a token; one that reads before it is the query of
/// the token before, so queries move up by one and the first reads the state as it came.
void average_chunk(const RwkvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, std::int64_t head,
                   float* state) {
  const std::int64_t size = spec.head_dim;
  const std::vector<float> r = head_rows(spec, rows, receptance_row, head);
  const std::vector<float> k = head_rows(spec, rows, key_row, head), v = head_rows(spec, rows, value_row, head);
  const std::vector<float> logs = log_decays(spec, weights, rows, head);
  std::vector<float> next(r.begin() + size, r.end()), read(r.size());
  next.resize(r.size());
  std::vector<float> first(static_cast<std::size_t>(size));
  for (std::int64_t value = 0; value < size; ++value)
    for (std::int64_t i = 0; i < size; ++i) first[value] += r[i] * state[value * size + i];
  run_head_chunk({.tokens = rows.tokens, .key_dim = size, .value_dim = size, .query = {next.data(), size},
                  .key = {k.data(), size}, .value = {v.data(), size}, .log_decay = {logs.data(), size},
                  .decays_by_channel = true, .output = read.data(), .output_stride = size},
                 state);
  for (std::int64_t token = 0; token < rows.tokens; ++token) {
    const float* before = token == 0 ? first.data() : read.data() + (token - 1) * size;
    float own = 0;
    for (std::int64_t i = 0; i < size; ++i)
      own += r[token * size + i] * weights.skip[head * size + i] * k[token * size + i];
    for (std::int64_t i = 0; i < size; ++i)
      rows.output(token)[head * size + i] = before[i] + own * v[token * size + i];
  }
}

/// Version 7.
void move_chunk(const RwkvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, std::int64_t head,
                float* state) {
  const std::int64_t size = spec.head_dim;
  const std::vector<float> r = head_rows(spec, rows, receptance_row, head), k = head_rows(spec, rows, key_row, head);
  const std::vector<float> v = head_rows(spec, rows, value_row, head), logs = log_decays(spec, weights, rows, head);
  std::vector<float> removed = head_rows(spec, rows, removal_row, head), write = head_rows(spec, rows, rate_row, head);
  for (std::int64_t token = 0; token < rows.tokens; ++token) make_unit_length(removed.data() + token * size, size, 1);
  for (std::size_t at = 0; at < write.size(); ++at) {
    write[at] = sigmoid(write[at]) * removed[at];
    removed[at] = -removed[at];
  }
  run_head_chunk({.tokens = rows.tokens, .key_dim = size, .value_dim = size, .query = {r.data(), size},
                  .key = {k.data(), size}, .value = {v.data(), size}, .log_decay = {logs.data(), size},
                  .decays_by_channel = true, .read = {removed.data(), size}, .write = {write.data(), size},
                  .output = rows.outputs + head * size, .output_stride = rows.output_width},
                 state);
}

}  // namespace

const FamilyTable<RwkvSpec>& family_of(const RwkvSpec&) {
  static const FamilyTable<RwkvSpec> table{
      .name = "rwkv",
      .doc = "A layer of RWKV-5, 6 or 7.",
      .fields = {{.name = "version",
                  .doc = "5 (decays fixed), 6 (decays by token) or 7 (generalised delta rule); changes what is "
                         "computed, no size",
                  .member = &RwkvSpec::version,
                  .minimum = 5},
                 {.name = "hidden_size",
                  .doc = "channels D that time mixing and channel mixing shift by a token",
                  .member = &RwkvSpec::hidden_size,
                  .published_doc = "channels of the model",
                  .published = {{"rwkv7", {"hidden_size"}}}},
                 {.name = "heads", .doc = "heads H of the whole model", .member = &RwkvSpec::heads},
                 {.name = "head_dim",
                  .doc = "channels N of one head, of keys and values alike",
                  .member = &RwkvSpec::head_dim,
                  .published_doc = "channels of one head",
                  .published = {{"rwkv7", {"head_dim"}}}}},
      .check = check_rwkv,
      .ssm_dtype = DType::fp32,
      .least_decay_log = -4,
      .largest_decay_log = 0};
  return table;
}

StateSpec state_of(const RwkvSpec& layer, const StateContext& context) {
  const Axis heads{"head", share_of_rank(layer.heads, "heads", "rwkv", context), 0};
  return place_state_tensors({shift_tensor(layer.hidden_size, context),
                              {"ssm", context.ssm_dtype,
                               Layout({heads, {"value", layer.head_dim, 0}, {"key", layer.head_dim, 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const RwkvSpec& layer, const StateContext& context) {
  std::vector<AxisRule> rules = shift_rules(layer.hidden_size);
  rules.push_back(split_axis_rule("ssm", "head", "heads", layer.heads, context));
  rules.push_back(whole_axis_rule("value", "head dim", layer.head_dim));
  rules.push_back(whole_axis_rule("key", "head dim", layer.head_dim));
  return rules;
}

std::int64_t projections_of(const RwkvSpec& layer) {
  return layer.version < decays_by_token ? decay_row : layer.version < moves_keys ? removal_row : rate_row + 1;
}

LayerSizes sizes_of(const RwkvSpec& layer) {
  const std::int64_t width = layer.heads * layer.head_dim, shifted = 2 * layer.hidden_size;
  return {.input = shifted + projections_of(layer) * width,
          .output = width + shifted,
          .conv_channels = shifted,
          .conv_taps = shift_taps,
          .decay_log = width,
          .skip = layer.version < moves_keys ? width : 0};
}

std::vector<ChannelSection> sections_of(const RwkvSpec& layer) { return shift_sections(layer.hidden_size); }

RwkvSpec part_of_rank(RwkvSpec layer, std::int64_t ranks) {
  layer.heads /= ranks;
  return layer;
}

RwkvSpec reduced(RwkvSpec layer, const Reduction& reduction) {
  layer.hidden_size = reduction.width(layer.hidden_size);
  layer.heads = reduction.heads(layer.heads);
  layer.head_dim = reduction.channels(layer.head_dim);
  return layer;
}

void run_token(const RwkvSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  shift_token(weights, input, state, output);
  const std::int64_t size = spec.head_dim;
  for (std::int64_t head = 0; head < spec.heads; ++head)
    (spec.version < moves_keys ? average_token : move_token)(
        HeadOfToken(spec, weights, input, head), std::span(state.ssm).subspan(head * size * size, size * size),
        output.subspan(head * size, size));
}

void run_chunk(const RwkvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  shift_chunk(weights, rows, state);
  const std::int64_t size = spec.head_dim;
  for (std::int64_t head = 0; head < spec.heads; ++head)
    (spec.version < moves_keys ? average_chunk : move_chunk)(spec, weights, rows, head,
                                                             state.ssm.data() + head * size * size);
}

}  // namespace hybridkv
