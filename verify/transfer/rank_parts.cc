#include "verify/transfer/rank_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

PartedRow joined(PartedRow first, const PartedRow& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

PartedRows rows_of(const GdnSpec& layer) {
  const PartedRow conv{{"q", layer.key_heads, layer.key_head_dim},
                       {"k", layer.key_heads, layer.key_head_dim},
                       {"v", layer.value_heads, layer.value_head_dim}};
  const PartedRow heads{{"head", layer.value_heads, 1}};
  return {.conv = conv,
          .state = {{"state", layer.value_heads, layer.value_head_dim * layer.key_head_dim}},
          .input = joined(conv, {{"b", layer.value_heads, 1}, {"a", layer.value_heads, 1}}),
          .output = {{"o", layer.value_heads, layer.value_head_dim}},
          .decay_log = heads,
          .step_bias = heads};
}

PartedRows rows_of(const Mamba2Spec& layer) {
  const PartedRow conv{{"x", layer.heads, layer.head_dim},
                       {"B", layer.groups, layer.state_size},
                       {"C", layer.groups, layer.state_size}};
  const PartedRow heads{{"head", layer.heads, 1}};
  return {.conv = conv,
          .state = {{"state", layer.heads, layer.head_dim * layer.state_size}},
          .input = joined(conv, {{"dt", layer.heads, 1}}),
          .output = {{"y", layer.heads, layer.head_dim}},
          .decay_log = heads,
          .step_bias = heads,
          .skip = heads};
}

PartedRows rows_of(const Mamba1Spec& layer) {
  const PartedRow channels{{"x", layer.inner_size, 1}};
  return {.conv = channels,
          .state = {{"state", layer.inner_size, layer.state_size}},
          .input = {{"x", layer.inner_size, 1},
                    {"dt", layer.inner_size, 1},
                    {"B", 1, layer.state_size},
                    {"C", 1, layer.state_size}},
          .output = channels,
          .decay_log = {{"A", layer.inner_size, layer.state_size}},
          .step_bias = channels,
          .skip = channels};
}

PartedRows rows_of(const KdaSpec& layer) {
  const PartedRow conv{{"q", layer.heads, layer.head_dim},
                       {"k", layer.heads, layer.head_dim},
                       {"v", layer.heads, layer.head_dim}};
  return {.conv = conv,
          .state = {{"state", layer.heads, layer.head_dim * layer.head_dim}},
          .input = joined(conv, {{"g", layer.heads, layer.head_dim}, {"b", layer.heads, 1}}),
          .output = {{"o", layer.heads, layer.head_dim}},
          .decay_log = {{"head", layer.heads, 1}},
          .step_bias = {{"head", layer.heads, layer.head_dim}}};
}

PartedRows rows_of(const ShortConvSpec& layer) {
  // Replicated, all channels are one part, which every rank keeps.
  const std::int64_t count = layer.replicated ? 1 : layer.channels, width = layer.channels / count;
  return {.conv = {{"x", count, width}},
          .input = {{"B", count, width}, {"C", count, width}, {"x", count, width}},
          .output = {{"y", count, width}}};
}

PartedRows rows_of(const LinearAttentionSpec& layer) {
  return {.state = {{"state", layer.heads, layer.head_dim * layer.head_dim}},
          .input = {{"q", layer.heads, layer.head_dim},
                    {"k", layer.heads, layer.head_dim},
                    {"v", layer.heads, layer.head_dim}},
          .output = {{"o", layer.heads, layer.head_dim}},
          .decay_log = {{"head", layer.heads, 1}}};
}

PartedRows rows_of(const RgLruSpec& layer) {
  const std::int64_t block = layer.lru_width / layer.heads;
  const PartedRow channels{{"x", layer.heads, block}};
  return {.conv = channels,
          .state = {{"state", layer.lru_width, 1}},
          .input = channels,
          .output = {{"h", layer.heads, block}},
          .decay_log = channels,
          .step_bias = {{"input gate", layer.heads, block}, {"recurrence gate", layer.heads, block}},
          .gates = {{"input gate", layer.heads, block * block}, {"recurrence gate", layer.heads, block * block}}};
}

/// What RWKV layers shift by a token, which every rank keeps whole.
PartedRow shifted_row(std::int64_t hidden_size) {
  return {{"time mixing", 1, hidden_size}, {"channel mixing", 1, hidden_size}};
}

PartedRows rows_of(const Rwkv4Spec& layer) {
  const PartedRow shifted = shifted_row(layer.hidden_size), channels{{"w", layer.attention_size, 1}};
  return {.conv = shifted,
          .state = {{"state", layer.attention_size, 3}},
          .input = joined(shifted, {{"k", layer.attention_size, 1}, {"v", layer.attention_size, 1}}),
          .output = joined({{"o", layer.attention_size, 1}}, shifted),
          .decay_log = channels,
          .skip = channels};
}

PartedRows rows_of(const RwkvSpec& layer) {
  constexpr std::string_view names[] = {"r", "k", "v", "w", "n", "a"};
  const PartedRow shifted = shifted_row(layer.hidden_size), heads{{"head", layer.heads, layer.head_dim}};
  PartedRow input = shifted;
  for (std::int64_t i = 0; i < projections_of(layer); ++i) input.push_back({names[i], layer.heads, layer.head_dim});
  return {.conv = shifted,
          .state = {{"state", layer.heads, layer.head_dim * layer.head_dim}},
          .input = input,
          .output = joined({{"o", layer.heads, layer.head_dim}}, shifted),
          .decay_log = heads,
          .skip = layer.version < 7 ? heads : PartedRow{}};
}

PartedRows rows_of(const XlstmSpec& layer) {
  return {.state = {{"state", layer.heads, head_numbers(layer)}},
          .input = {{"q", layer.heads, layer.key_head_dim},
                    {"k", layer.heads, layer.key_head_dim},
                    {"v", layer.heads, layer.value_head_dim},
                    {"i", layer.heads, 1},
                    {"f", layer.heads, 1}},
          .output = {{"h", layer.heads, layer.value_head_dim}},
          .decay_log = {{"head", layer.heads, 1}},
          .step_bias = {{"head", layer.heads, 1}}};
}

PartedRows rows_of(const CcaSpec& layer) {
  const PartedRow conv{{"q", layer.query_heads, layer.head_dim}, {"k", layer.kv_heads, layer.head_dim}};
  const PartedRow row = joined(conv, {{"u", 1, layer.delayed_size}});
  PartedRow taps;
  for (std::int64_t tap = 0; tap < layer.grouped_kernel; ++tap)
    for (const RowPart& part : conv) taps.push_back({part.name, part.count, part.width * layer.head_dim});
  return {.conv = conv,
          .state = {{"state", 1, layer.delayed_size}},
          .input = row,
          .output = row,
          .step_bias = conv,
          .gates = taps};
}

PartedRows rows_of(const StreamConvsSpec& layer) {
  // Not scattered, a stream of all channels is one part, which every rank keeps.
  const std::int64_t count = layer.scattered ? layer.hidden_size : 1, width = layer.hidden_size / count;
  const PartedRow streams{{"k", layer.kv_heads, layer.head_dim},
                          {"v", layer.kv_heads, layer.head_dim},
                          {"attention", count, width},
                          {"mlp", count, width}};
  return {.conv = streams, .input = streams, .output = streams};
}

}  // namespace

std::vector<std::int64_t> parts_on_rank(std::int64_t count, std::int64_t ranks, std::int64_t rank) {
  expects(count % ranks == 0 || ranks % count == 0, "parts are shared by ranks, or ranks by parts");
  const std::int64_t deals = std::max(count, ranks);
  std::vector<std::int64_t> parts;
  for (std::int64_t deal = 0; deal < deals; ++deal)
    if (deal / (deals / ranks) == rank) parts.push_back(deal / (deals / count));
  return parts;
}

PartedRows parted_rows(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return rows_of(family); }, layer);
}

std::vector<std::int64_t> columns_on_rank(const PartedRow& row, std::int64_t ranks, std::int64_t rank) {
  std::vector<std::int64_t> columns;
  std::int64_t first = 0;
  for (const RowPart& part : row) {
    for (const std::int64_t number : parts_on_rank(part.count, ranks, rank))
      for (std::int64_t i = 0; i < part.width; ++i) columns.push_back(first + number * part.width + i);
    first += part.count * part.width;
  }
  return columns;
}

std::int64_t width_of(const PartedRow& row) {
  std::int64_t width = 0;
  for (const RowPart& part : row) width += part.count * part.width;
  return width;
}

std::string column_name(const PartedRow& row, std::int64_t column) {
  for (const RowPart& part : row) {
    if (column < part.count * part.width)
      return part.width == 1 ? fmt::format("{}, channel {}", part.name, column)
                             : fmt::format("{}, part {}, channel {}", part.name, column / part.width,
                                           column % part.width);
    column -= part.count * part.width;
  }
  return fmt::format("column {} behind the row", column);
}

RecurrentLayer layer_on_rank(const RecurrentLayer& whole, std::int64_t ranks, std::int64_t rank) {
  const PartedRows rows = parted_rows(whole.spec);
  const RecurrentWeights& weights = whole.weights;
  return {on_rank(whole.spec, ranks),
          {.conv = rows_on_rank(weights.conv, rows.conv, ranks, rank),
           .conv_bias = rows_on_rank(weights.conv_bias, rows.conv, ranks, rank),
           .decay_log = rows_on_rank(weights.decay_log, rows.decay_log, ranks, rank),
           .step_bias = rows_on_rank(weights.step_bias, rows.step_bias, ranks, rank),
           .skip = rows_on_rank(weights.skip, rows.skip, ranks, rank),
           .gates = rows_on_rank(weights.gates, rows.gates, ranks, rank)}};
}

std::vector<float> rows_on_rank(const std::vector<float>& rows, const PartedRow& row, std::int64_t ranks,
                                std::int64_t rank) {
  const std::int64_t width = width_of(row);
  if (width == 0) return {};
  expects(std::ssize(rows) % width == 0, "rows are whole");
  const std::vector<std::int64_t> columns = columns_on_rank(row, ranks, rank);
  std::vector<float> some;
  some.reserve(rows.size() / static_cast<std::size_t>(width) * columns.size());
  for (std::int64_t first = 0; first < std::ssize(rows); first += width)
    for (const std::int64_t column : columns) some.push_back(rows[static_cast<std::size_t>(first + column)]);
  return some;
}

}  // namespace hybridkv
