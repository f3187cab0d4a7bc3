#pragma once

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "mamba/recurrent_spec.h"

namespace hybridkv {

/// One state known from elsewhere.
struct PublishedState {
  std::string source;  ///< where the number was printed
  RecurrentSpec layer;
  StateContext context;
  std::int64_t bytes;                                 ///< M
  std::vector<std::vector<std::int64_t>> shapes = {}; ///< conv and ssm; empty where not printed
};

inline std::vector<std::int64_t> shape_of(const StateTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : tensor.layout.axes()) shape.push_back(axis.extent);
  return shape;
}

/// Compares a state with a published one, every figure of it.
inline void check_published(const PublishedState& published) {
  CAPTURE(published.source);
  const StateSpec state = state_of(published.layer, published.context);
  CHECK(state.bytes == published.bytes);
  CHECK(state.padding_bytes == 0);
  REQUIRE(state.tensors.size() == 2);
  CHECK(state.tensors[0].name == "conv");
  CHECK(state.tensors[0].dtype == published.context.conv_dtype);
  CHECK(state.tensors[1].name == "ssm");
  CHECK(state.tensors[1].dtype == published.context.ssm_dtype);
  for (std::size_t i = 0; i < published.shapes.size(); ++i) CHECK(shape_of(state.tensors[i]) == published.shapes[i]);
}

/// A layer of any family with small sizes, odd ones too.
inline rc::Gen<RecurrentSpec> any_recurrent_spec() {
  return rc::gen::exec([]() -> RecurrentSpec {
    const auto size = [](std::int64_t largest) { return *rc::gen::inRange<std::int64_t>(1, largest + 1); };
    const auto heads = *rc::gen::element<std::int64_t>(1, 2, 3, 8, 12, 16, 32);
    switch (*rc::gen::inRange(0, 12)) {
      case 0: return GdnSpec{*rc::gen::element<std::int64_t>(1, 2, 3, 8, 16), heads, size(9), size(9), size(5)};
      case 1: return Mamba2Spec{heads, size(9), size(9), *rc::gen::element<std::int64_t>(1, 2, 3, 8), size(5), 256};
      case 2: return Mamba1Spec{heads * size(4), size(9), size(5)};
      case 3: return KdaSpec{heads, size(9), size(5), *rc::gen::arbitrary<bool>()};
      case 4: {
        const auto drafts = *rc::gen::arbitrary<bool>(), replicated = *rc::gen::arbitrary<bool>();
        return ShortConvSpec{heads * size(4), 1 + size(4), drafts, replicated};
      }
      case 5: return LinearAttentionSpec{heads, size(9)};
      case 6: return RgLruSpec{heads * size(4), heads, size(5)};
      case 7: return Rwkv4Spec{size(9), heads * size(4)};
      case 8: return RwkvSpec{4 + size(3), size(9), heads, size(9)};
      case 9: return XlstmSpec{heads, size(9), size(9)};
      case 10: return CcaSpec{heads * size(3), heads, size(9), size(4), size(4), size(9)};
      default: return StreamConvsSpec{heads, size(4), heads * size(3), 1 + size(4), *rc::gen::arbitrary<bool>()};
    }
  });
}

inline rc::Gen<StateContext> any_state_context() {
  return rc::gen::exec([] {
    const std::vector<DType> dtypes(std::begin(all_dtypes), std::end(all_dtypes));
    return StateContext{*rc::gen::element<std::int64_t>(1, 2, 3, 4, 6, 8, 16), *rc::gen::inRange<std::int64_t>(0, 5),
                        *rc::gen::elementOf(dtypes), *rc::gen::elementOf(dtypes)};
  });
}

}  // namespace hybridkv
