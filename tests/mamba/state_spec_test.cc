#include "mamba/state_spec.h"

#include "layout/disjointness.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

/// A convolution of so many bf16 elements in front of a recurrent tensor of 4 elements.
StateSpec state_after(std::int64_t conv_elements, DType ssm_dtype) {
  return place_state_tensors({{"conv", DType::bf16, Layout({{"channel", conv_elements, 0}}), 0},
                              {"ssm", ssm_dtype, Layout({{"state", 4, 0}}), 0}});
}

TEST_CASE("edge: after an odd convolution the recurrent tensor moves up to a multiple of its element") {
  const StateSpec odd = state_after(3, DType::fp32);
  CHECK(odd.tensors[1].byte_offset == 8);
  CHECK(odd.padding_bytes == 2);
  CHECK(odd.bytes == 24);
  const StateSpec even = state_after(4, DType::fp32);
  CHECK(even.tensors[1].byte_offset == 8);
  CHECK(even.padding_bytes == 0);
  CHECK(even.bytes == 24);
  const StateSpec same_size = state_after(3, DType::fp16);
  CHECK(same_size.tensors[1].byte_offset == 6);
  CHECK(same_size.padding_bytes == 0);
}

TEST_CASE("edge: an odd convolution of a real layer changes M") {
  // 1 step of 5 channels in bf16 is 10 bytes; fp32 starts at 12.
  const StateSpec state = state_of(GdnSpec{1, 1, 1, 3, 2}, {1, 0, DType::bf16, DType::fp32});
  CHECK(state.tensors[0].bytes() == 10);
  CHECK(state.tensors[1].byte_offset == 12);
  CHECK(state.padding_bytes == 2);
  CHECK(state.bytes == 12 + 3 * 4);
}

TEST_CASE("edge: a state without tensors takes nothing, one tensor starts at the page") {
  CHECK(place_state_tensors({}).bytes == 0);
  const Layout conv({{"step", 2, 0}, {"channel", 3, 0}});
  const StateSpec one = place_state_tensors({{"conv", DType::fp32, conv, 99}});
  CHECK(one.tensors[0].byte_offset == 0);
  CHECK(one.tensors[0].layout == Layout({{"step", 2, 3}, {"channel", 3, 1}}));
  CHECK(one.bytes == 24);
}

TEST_CASE("edge: a state whose bytes do not fit 64 bits is refused") {
  CHECK_THROWS_AS(state_after(std::int64_t{1} << 62, DType::fp32), InputError);
}

TEST_CASE("law: tensors are dense, aligned, in order, disjoint, and with the padding make up the state") {
  int num_states = 0, num_padded = 0;
  CHECK(rc::check("state tensors", [&] {
    for (int repetition = 0; repetition < 20; ++repetition) {
      StateSpec state;
      try {
        state = state_of(*rc::gen::resize(rc::kNominalSize, any_recurrent_spec()),
                         *rc::gen::resize(rc::kNominalSize, any_state_context()));
      } catch (const SpecError&) {
        continue;
      }
      ++num_states;
      num_padded += state.padding_bytes > 0;
      std::vector<PlacedLayout> placed;
      std::int64_t sum = state.padding_bytes, previous_end = 0;
      for (const StateTensor& tensor : state.tensors) {
        RC_ASSERT(tensor.layout == row_major(tensor.layout.axes()));
        RC_ASSERT(tensor.byte_offset % element_bytes(tensor.dtype) == 0);
        RC_ASSERT(tensor.byte_offset >= previous_end);
        RC_ASSERT(tensor.byte_offset - previous_end < element_bytes(tensor.dtype));
        previous_end = tensor.byte_offset + tensor.bytes();
        sum += tensor.bytes();
        placed.push_back({tensor.layout, element_bytes(tensor.dtype), tensor.byte_offset});
        RC_ASSERT(contains(state.bytes, placed.back()));
      }
      RC_ASSERT(state.tensors.front().byte_offset == 0);
      RC_ASSERT(check_disjoint(placed).answer == Answer::yes);
      RC_ASSERT(sum == state.bytes && previous_end == state.bytes);
    }
  }));
  CHECK(num_states > 500);
  CHECK(num_padded > 0);
}

}  // namespace
}  // namespace hybridkv
