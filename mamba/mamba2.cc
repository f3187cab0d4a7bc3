#include "mamba/mamba2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/head_recurrence.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

void check_mamba2(const Mamba2Spec& layer, const std::string& path) {
  check_shared_evenly(layer.heads, "heads", layer.groups, "groups of B and C", path + ".heads");
}

std::string changed_mamba2_ratio(const Mamba2Spec& whole, const Mamba2Spec& reduced) {
  const std::int64_t before = whole.heads / whole.groups, after = reduced.heads / reduced.groups;
  return before == after ? "" : fmt::format("{} heads of mamba2 share B and C, of {}", after, before);
}

/// Number of groups all ranks hold together.
std::int64_t replicated_groups(const Mamba2Spec& layer, std::int64_t ranks) {
  if (layer.groups % ranks == 0) return layer.groups;
  if (ranks < layer.groups)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} groups of a mamba2 layer; take a divisor ({}) or at least {}",
                                ranks, layer.groups, divisors_text(layer.groups), layer.groups));
  return ranks;
}

}  // namespace

const FamilyTable<Mamba2Spec>& family_of(const Mamba2Spec&) {
  static const FamilyTable<Mamba2Spec> table{
      .name = "mamba2",
      .doc = "A Mamba-2 layer (Nemotron-H, Granite-4-H, Bamba, Falcon-H1, Zamba2).",
      .fields = {{.name = "heads",
                  .doc = "heads of the whole model",
                  .member = &Mamba2Spec::heads,
                  .published_doc = "mamba heads",
                  .published = {{"granitemoehybrid", {"mamba_n_heads"}},
                                {"zamba2", {"n_mamba_heads"}},
                                {"nemotron_h", {"mamba_num_heads"}},
                                {"mamba2", {"num_heads"}}}},
                 {.name = "head_dim",
                  .doc = "channels of one head",
                  .member = &Mamba2Spec::head_dim,
                  .published_doc = "channels of one mamba head",
                  .published = {{"granitemoehybrid", {"mamba_d_head"}},
                                {"zamba2", {"mamba_headdim"}},
                                {"nemotron_h", {"mamba_head_dim"}},
                                {"mamba2", {"head_dim"}}}},
                 {.name = "state_size",
                  .doc = "size d_state of the state of one channel",
                  .member = &Mamba2Spec::state_size,
                  .published_doc = "size of the state of one channel",
                  .published = {{"granitemoehybrid", {"mamba_d_state"}},
                                {"zamba2", {"mamba_d_state", "state_size"}},
                                {"nemotron_h", {"ssm_state_size"}},
                                {"mamba2", {"state_size"}}}},
                 {.name = "groups",
                  .doc = "groups G that share their B and C projections",
                  .member = &Mamba2Spec::groups,
                  .published_doc = "groups of the mamba layer",
                  .published = {{"granitemoehybrid", {"mamba_n_groups"}},
                                {"zamba2", {"mamba_ngroups"}},
                                {"nemotron_h", {"n_groups"}},
                                {"mamba2", {"n_groups"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &Mamba2Spec::conv_kernel,
                  .published_doc = "taps of the convolution",
                  .published = {{"granitemoehybrid", {"mamba_d_conv"}},
                                {"zamba2", {"mamba_d_conv", "conv_dimension"}},
                                {"nemotron_h", {"conv_kernel"}},
                                {"mamba2", {"conv_kernel"}}}},
                 {.name = "chunk_size",
                  .doc = "tokens of one chunk of the scan, the grain of cache mode all",
                  .member = &Mamba2Spec::chunk_size,
                  .unit = FieldUnit::tokens,
                  .published_doc = "tokens of one chunk of the scan",
                  .published = {{"granitemoehybrid", {"mamba_chunk_size"}},
                                {"zamba2", {"chunk_size"}},
                                {"nemotron_h", {"chunk_size"}},
                                {"mamba2", {"chunk_size"}}}}},
      .check = check_mamba2,
      .scan_chunk = &Mamba2Spec::chunk_size,
      .changed_ratio = changed_mamba2_ratio};
  return table;
}

StateSpec state_of(const Mamba2Spec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  const Axis heads{"head", share_of_rank(layer.heads, "heads", "mamba2", context), 0};
  const Checked inner = Checked(layer.heads) * layer.head_dim;
  const Checked shared = 2 * Checked(replicated_groups(layer, ranks)) * layer.state_size;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + context.speculative_tokens, 0};
  const Axis channels{"channel", (inner + shared) / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({heads, {"dim", layer.head_dim, 0}, {"state", layer.state_size, 0}}), 0},
  });
}

std::vector<AxisRule> axis_rules(const Mamba2Spec& layer, const StateContext& context) {
  const bool replicated = layer.groups % context.tensor_parallel != 0;
  std::string channels = "(heads * head dim + 2 * groups * d_state) / TP";
  if (replicated) channels += fmt::format(": every rank holds a copy of a group, {} in all", layer.groups);
  return {conv_steps_rule(layer.conv_kernel, context),
          {"conv", "channel", std::move(channels),
           {{"heads", layer.heads}, {"head dim", layer.head_dim},
            {"groups", replicated ? context.tensor_parallel : layer.groups}, {"d_state", layer.state_size},
            {"TP", context.tensor_parallel}}},
          split_axis_rule("ssm", "head", "heads", layer.heads, context),
          whole_axis_rule("dim", "head dim", layer.head_dim),
          whole_axis_rule("state", "d_state", layer.state_size)};
}

LayerSizes sizes_of(const Mamba2Spec& layer) {
  const std::int64_t inner = layer.heads * layer.head_dim;
  const std::int64_t channels = inner + 2 * layer.groups * layer.state_size;
  return {.input = channels + layer.heads,
          .output = inner,
          .conv_channels = channels,
          .conv_taps = layer.conv_kernel,
          .conv_holds_drafts = true,
          .decay_log = layer.heads,
          .step_bias = layer.heads,
          .skip = layer.heads};
}

std::vector<ChannelSection> sections_of(const Mamba2Spec& layer) {
  return {{"x", layer.heads, layer.head_dim},
          {"B", layer.groups, layer.state_size},
          {"C", layer.groups, layer.state_size}};
}

Mamba2Spec part_of_rank(Mamba2Spec layer, std::int64_t ranks) {
  layer.heads /= ranks;
  layer.groups = layer.groups % ranks == 0 ? layer.groups / ranks : 1;
  return layer;
}

Mamba2Spec reduced(Mamba2Spec layer, const Reduction& reduction) {
  const std::int64_t heads_per_group = layer.heads / layer.groups;
  layer.groups = reduction.heads(layer.groups);
  layer.heads = layer.groups * std::max(std::min<std::int64_t>(2, heads_per_group), heads_per_group / reduction.by);
  layer.head_dim = reduction.channels(layer.head_dim);
  layer.state_size = reduction.channels(layer.state_size);
  layer.chunk_size = std::max(std::min<std::int64_t>(16, layer.chunk_size), layer.chunk_size / reduction.by);
  return layer;
}

void run_token(const Mamba2Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  using reference::Row;
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::int64_t shared = spec.groups * spec.state_size;
  const std::vector<double> xbc =
      reference::silu_of(reference::convolve(weights, input.first(inner + 2 * shared), state.conv));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const std::int64_t group = head / (spec.heads / spec.groups);
    const Row b = Row(xbc).subspan(inner + group * spec.state_size, spec.state_size);
    const Row c = Row(xbc).subspan(inner + shared + group * spec.state_size, spec.state_size);
    const double d = softplus(input[inner + 2 * shared + head] + weights.step_bias[head]);
    const double decay = std::exp(-std::exp(double{weights.decay_log[head]}) * d);
    for (std::int64_t p = head * spec.head_dim; p < (head + 1) * spec.head_dim; ++p) {
      const std::span<double> row = std::span(state.ssm).subspan(p * spec.state_size, spec.state_size);
      for (std::int64_t n = 0; n < spec.state_size; ++n) row[n] = decay * row[n] + d * xbc[p] * b[n];
      output[p] = reference::dot(row, c) + weights.skip[head] * xbc[p];
    }
  }
}

void run_chunk(const Mamba2Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::int64_t shared = spec.groups * spec.state_size;
  const std::int64_t channels = inner + 2 * shared;
  const std::int64_t heads_per_group = spec.heads / spec.groups;
  const std::vector<float> xbc = convolve_and_activate(weights, rows, state);
  std::vector<float> stepped(static_cast<std::size_t>(rows.tokens * spec.head_dim));  // d x
  std::vector<float> log_decay(static_cast<std::size_t>(rows.tokens));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const float rate = std::exp(weights.decay_log[head]);
    const float* x = xbc.data() + head * spec.head_dim;
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const float d = softplus(rows.input(token)[channels + head] + weights.step_bias[head]);
      log_decay[token] = -rate * d;
      for (std::int64_t p = 0; p < spec.head_dim; ++p)
        stepped[token * spec.head_dim + p] = d * x[token * channels + p];
    }
    const float* b = xbc.data() + inner + head / heads_per_group * spec.state_size;
    run_head_chunk({.tokens = rows.tokens, .key_dim = spec.state_size, .value_dim = spec.head_dim,
                    .query = {b + shared, channels}, .key = {b, channels}, .value = {stepped.data(), spec.head_dim},
                    .log_decay = {log_decay.data(), 1}, .output = rows.outputs + head * spec.head_dim,
                    .output_stride = rows.output_width},
                   state.ssm.data() + head * spec.head_dim * spec.state_size);
    for (std::int64_t token = 0; token < rows.tokens; ++token)
      for (std::int64_t p = 0; p < spec.head_dim; ++p)
        rows.output(token)[head * spec.head_dim + p] += weights.skip[head] * x[token * channels + p];
  }
}

}  // namespace hybridkv
