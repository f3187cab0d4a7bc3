#include "verify/transfer/rank_parts.h"

#include <doctest/doctest.h>

#include <numeric>

#include "base/random.h"
#include "mamba/recurrent_forward.h"

namespace hybridkv {
namespace {

using Parts = std::vector<std::int64_t>;

std::vector<RecurrentSpec> families() {
  return {GdnSpec{.key_heads = 4, .value_heads = 8, .key_head_dim = 6, .value_head_dim = 5, .conv_kernel = 4},
          GdnSpec{.key_heads = 4, .value_heads = 4, .key_head_dim = 3, .value_head_dim = 2, .conv_kernel = 2,
                  .doubled_beta = true},
          Mamba2Spec{.heads = 8, .head_dim = 3, .state_size = 5, .groups = 2},
          Mamba2Spec{.heads = 8, .head_dim = 3, .state_size = 5, .groups = 1},
          Mamba1Spec{.inner_size = 12, .state_size = 3},
          KdaSpec{.heads = 4, .head_dim = 6},
          KdaSpec{.heads = 4, .head_dim = 6, .log_decay_limit = 5},
          ShortConvSpec{.channels = 8},
          ShortConvSpec{.channels = 8, .replicated = true},
          LinearAttentionSpec{.heads = 4, .head_dim = 6},
          RgLruSpec{.lru_width = 12, .heads = 4},
          Rwkv4Spec{.hidden_size = 5, .attention_size = 8},
          RwkvSpec{.version = 6, .hidden_size = 5, .heads = 4, .head_dim = 3},
          RwkvSpec{.version = 7, .hidden_size = 5, .heads = 4, .head_dim = 3},
          XlstmSpec{.heads = 4, .key_head_dim = 3, .value_head_dim = 5},
          CcaSpec{.query_heads = 8, .kv_heads = 4, .head_dim = 3, .grouped_kernel = 3, .delayed_size = 5},
          StreamConvsSpec{.kv_heads = 4, .head_dim = 3, .hidden_size = 8},
          StreamConvsSpec{.kv_heads = 4, .head_dim = 3, .hidden_size = 8, .scattered = true}};
}

std::vector<float> drawn(std::uint64_t seed, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = unit_value(mix(seed, i));
  return values;
}

/// Outputs of so many tokens from a state that was drawn, (token, output).
std::vector<float> outputs_of(const RecurrentLayer& layer, const std::vector<float>& inputs,
                              const std::vector<float>& conv, const std::vector<float>& ssm) {
  const StateSpec spec = state_of(layer.spec, StateContext{.conv_dtype = DType::fp32, .ssm_dtype = DType::fp32});
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes));
  StateView view;
  for (const StateTensor& tensor : spec.tensors) {
    const auto place = std::span(bytes).subspan(static_cast<std::size_t>(tensor.byte_offset),
                                                static_cast<std::size_t>(tensor.bytes()));
    TensorView& part = tensor.name == "conv" ? view.conv : view.ssm;
    part = make_view(place, DType::fp32, tensor.layout);
    store_tensor(part, tensor.name == "conv" ? conv : ssm);
  }
  std::vector<float> outputs(inputs.size() / static_cast<std::size_t>(input_width(layer.spec)) *
                             static_cast<std::size_t>(output_width(layer.spec)));
  run_chunked(layer, inputs, view, view, 16, outputs);
  return outputs;
}

}  // namespace

TEST_CASE("edge: parts are dealt out in turn, each to several ranks where there are too few") {
  CHECK(parts_on_rank(4, 2, 0) == Parts{0, 1});
  CHECK(parts_on_rank(4, 2, 1) == Parts{2, 3});
  CHECK(parts_on_rank(2, 4, 0) == Parts{0});
  CHECK(parts_on_rank(2, 4, 1) == Parts{0});
  CHECK(parts_on_rank(2, 4, 2) == Parts{1});
  CHECK(parts_on_rank(1, 8, 7) == Parts{0});
  CHECK(parts_on_rank(3, 1, 0) == Parts{0, 1, 2});
  CHECK_THROWS_AS(parts_on_rank(3, 2, 0), std::logic_error);
}

TEST_CASE("edge: columns of a rank are those of its parts, section by section") {
  const PartedRow row{{"q", 2, 2}, {"v", 4, 1}, {"all", 1, 2}};
  CHECK(width_of(row) == 10);
  CHECK(columns_on_rank(row, 2, 1) == Parts{2, 3, 6, 7, 8, 9});
  CHECK(columns_on_rank(row, 4, 1) == Parts{0, 1, 5, 8, 9});
  CHECK(column_name(row, 3) == "q, part 1, channel 1");
  CHECK(column_name(row, 6) == "v, channel 2");
  CHECK(rows_on_rank(drawn(1, 20), row, 1, 0) == drawn(1, 20));
  CHECK_THROWS_AS(rows_on_rank(drawn(1, 19), row, 1, 0), std::logic_error);
}

TEST_CASE("law: the rows of a rank are as long as its layer says, in every family") {
  for (const RecurrentSpec& spec : families())
    for (const std::int64_t ranks : {1, 2, 4})
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(family_name(spec));
        CAPTURE(ranks);
        const PartedRows rows = parted_rows(spec);
        const RecurrentLayer here = layer_on_rank(random_layer(spec, 3), ranks, rank);
        const RecurrentLayer like = random_layer(on_rank(spec, ranks), 3);
        CHECK(here.spec == like.spec);
        CHECK(here.weights.conv.size() == like.weights.conv.size());
        CHECK(here.weights.conv_bias.size() == like.weights.conv_bias.size());
        CHECK(here.weights.decay_log.size() == like.weights.decay_log.size());
        CHECK(here.weights.step_bias.size() == like.weights.step_bias.size());
        CHECK(here.weights.skip.size() == like.weights.skip.size());
        CHECK(here.weights.gates.size() == like.weights.gates.size());
        CHECK(std::ssize(columns_on_rank(rows.input, ranks, rank)) == input_width(here.spec));
        CHECK(std::ssize(columns_on_rank(rows.output, ranks, rank)) == output_width(here.spec));
        CHECK(std::ssize(columns_on_rank(rows.conv, ranks, rank)) == conv_channels(here.spec));
      }
}

TEST_CASE("law: ranks that compute their rows of a layer give what the whole layer gives, bit for bit") {
  constexpr std::int64_t tokens = 5;
  for (const RecurrentSpec& spec : families()) {
    const PartedRows rows = parted_rows(spec);
    const RecurrentLayer whole = random_layer(spec, 3);
    const std::vector<float> inputs = drawn(1, tokens * input_width(spec));
    const std::vector<float> conv = drawn(2, (conv_taps(spec) - 1) * width_of(rows.conv));
    const std::vector<float> ssm = drawn(3, width_of(rows.state));
    const std::vector<float> expected = outputs_of(whole, inputs, conv, ssm);
    for (const std::int64_t ranks : {2, 4})
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(family_name(spec));
        CAPTURE(ranks);
        CHECK(outputs_of(layer_on_rank(whole, ranks, rank), rows_on_rank(inputs, rows.input, ranks, rank),
                         rows_on_rank(conv, rows.conv, ranks, rank), rows_on_rank(ssm, rows.state, ranks, rank)) ==
              rows_on_rank(expected, rows.output, ranks, rank));
      }
  }
}

}  // namespace hybridkv
