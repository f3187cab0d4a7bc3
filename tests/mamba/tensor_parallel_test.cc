// Ranks that split a recurrent layer compute together what one rank computes alone.
#include <algorithm>

#include "tests/mamba/recurrent_cases.h"

namespace hybridkv {
namespace {

/// Columns of a row: `width` of the whole layer, of which a rank takes `count` from `first` on.
struct Part {
  std::int64_t width, first, count;
};

Part split(std::int64_t width, std::int64_t ranks, std::int64_t rank) {
  return {width, rank * (width / ranks), width / ranks};
}
Part whole(std::int64_t width) { return {width, 0, width}; }

/// What a rank takes of the inputs, how many of these parts pass the convolution, and what it gives of the outputs.
struct Division {
  std::vector<Part> inputs;
  std::size_t convolved = 0;
  std::vector<Part> outputs = {};  ///< its share of all columns unless said, as of the biases
  std::vector<Part> biases = {};
  std::vector<Part> gates = {};
};

Division division(const GdnSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part keys = split(s.key_heads * s.key_head_dim, ranks, rank), heads = split(s.value_heads, ranks, rank);
  return {{keys, keys, split(s.value_heads * s.value_head_dim, ranks, rank), heads, heads}, 3};
}
Division division(const Mamba2Spec& s, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t width = s.groups * s.state_size;
  // Where there are more ranks than groups each rank holds the group that its heads read.
  const Part group = s.groups % ranks == 0 ? split(width, ranks, rank)
                                           : Part{width, rank * s.groups / ranks * s.state_size, s.state_size};
  return {{split(s.heads * s.head_dim, ranks, rank), group, group, split(s.heads, ranks, rank)}, 3};
}
Division division(const Mamba1Spec& s, std::int64_t ranks, std::int64_t rank) {
  const Part channels = split(s.inner_size, ranks, rank);
  return {{channels, channels, whole(s.state_size), whole(s.state_size)}, 1};
}
Division division(const KdaSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part width = split(s.heads * s.head_dim, ranks, rank);
  return {{width, width, width, width, split(s.heads, ranks, rank)}, 3};
}
Division division(const ShortConvSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part channels = split(s.channels, ranks, rank);
  return {{channels, channels, channels}, 1};
}
Division division(const LinearAttentionSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part width = split(s.heads * s.head_dim, ranks, rank);
  return {{width, width, width}, 0};
}
Division division(const RgLruSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part channels = split(s.lru_width, ranks, rank);
  const Part blocks = split(s.lru_width * (s.lru_width / s.heads), ranks, rank);
  return {{channels}, 1, {channels}, {channels, channels}, {blocks, blocks}};
}
Division division(const Rwkv4Spec& s, std::int64_t ranks, std::int64_t rank) {
  const Part shifted = whole(s.hidden_size), channels = split(s.attention_size, ranks, rank);
  return {{shifted, shifted, channels, channels}, 2, {channels, shifted, shifted}};
}
Division division(const RwkvSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part shifted = whole(s.hidden_size), heads = split(s.heads * s.head_dim, ranks, rank);
  std::vector<Part> inputs{shifted, shifted};
  inputs.resize(static_cast<std::size_t>(2 + projections_of(s)), heads);
  return {inputs, 2, {heads, shifted, shifted}};
}

Division division(const XlstmSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part keys = split(s.heads * s.key_head_dim, ranks, rank), heads = split(s.heads, ranks, rank);
  return {{keys, keys, split(s.heads * s.value_head_dim, ranks, rank), heads, heads}, 0};
}

Division division(const CcaSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part q = split(s.query_heads * s.head_dim, ranks, rank), k = split(s.kv_heads * s.head_dim, ranks, rank);
  const std::vector<Part> row{q, k, whole(s.delayed_size)};
  const std::int64_t square = s.head_dim * s.head_dim;
  return {row, 2, row, {q, k}, {split(s.query_heads * square, ranks, rank), split(s.kv_heads * square, ranks, rank)}};
}

Division division(const StreamConvsSpec& s, std::int64_t ranks, std::int64_t rank) {
  const Part heads = split(s.kv_heads * s.head_dim, ranks, rank);
  const Part stream = s.scattered ? split(s.hidden_size, ranks, rank) : whole(s.hidden_size);
  const std::vector<Part> row{heads, heads, stream, stream};
  return {row, 4, row};
}

/// The rank's columns of every row.
template <class Real>
std::vector<Real> take(const std::vector<Real>& rows, std::span<const Part> parts) {
  std::int64_t width = 0;
  for (const Part& part : parts) width += part.width;
  std::vector<Real> taken;
  for (std::size_t row = 0; width > 0 && row < rows.size(); row += width) {
    auto first = rows.begin() + static_cast<std::ptrdiff_t>(row);
    for (const Part& part : parts) {
      taken.insert(taken.end(), first + part.first, first + part.first + part.count);
      first += part.width;
    }
  }
  return taken;
}

RecurrentLayer layer_of_rank(const RecurrentLayer& layer, const Division& parts, std::int64_t ranks,
                             std::int64_t rank) {
  const auto share = [&](const std::vector<float>& list) {
    return take(list, std::vector<Part>{split(static_cast<std::int64_t>(list.size()), ranks, rank)});
  };
  const std::span<const Part> convolved(parts.inputs.data(), parts.convolved);
  const RecurrentWeights& w = layer.weights;
  return {on_rank(layer.spec, ranks),
          {.conv = take(w.conv, convolved), .conv_bias = take(w.conv_bias, convolved), .decay_log = share(w.decay_log),
           .step_bias = parts.biases.empty() ? share(w.step_bias) : take(w.step_bias, parts.biases),
           .skip = share(w.skip), .gates = take(w.gates, parts.gates)}};
}

TEST_CASE("law: outputs of every rank are its columns of those of one rank, with replicated groups too") {
  std::vector<RecurrentSpec> specs{Mamba2Spec{8, 6, 8, 1, 4, 64}, GdnSpec{4, 8, 6, 10, 4}, KdaSpec{4, 12, 4},
                                   Mamba1Spec{12, 5, 4},          ShortConvSpec{16, 3},    LinearAttentionSpec{4, 10},
                                   Mamba2Spec{8, 6, 8, 2, 4, 64}, RgLruSpec{24, 4, 4},     Rwkv4Spec{6, 12},
                                   RwkvSpec{5, 6, 4, 5},          RwkvSpec{6, 6, 4, 5},    RwkvSpec{7, 6, 4, 5},
                                   XlstmSpec{4, 5, 6},            CcaSpec{8, 4, 3, 2, 3, 5},
                                   StreamConvsSpec{4, 3, 8, 4},   StreamConvsSpec{4, 3, 8, 4, true}};
  for (const RecurrentSpec& spec : specs)
    for (const std::int64_t ranks : {2, 4}) {
      CAPTURE(family_name(spec));
      CAPTURE(ranks);
      const RecurrentLayer layer = random_layer(spec, 4);
      const std::vector<float> inputs = random_inputs(spec, 60, 3);
      const Expected expected = reference_of(layer, inputs);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        Division parts = std::visit([&](const auto& family) { return division(family, ranks, rank); }, spec);
        if (parts.outputs.empty()) parts.outputs = {split(output_width(spec), ranks, rank)};
        const RecurrentLayer part = layer_of_rank(layer, parts, ranks, rank);
        StatePages pages(part.spec, 1, DType::fp32);
        std::vector<float> outputs(static_cast<std::size_t>(60 * output_width(part.spec)));
        run_chunked(part, take(inputs, parts.inputs), pages.at(0), pages.at(0), 16, outputs);
        CHECK(relative_error(outputs, take(expected.outputs, parts.outputs)) <= 1e-5);
      }
    }
}

}  // namespace
}  // namespace hybridkv
