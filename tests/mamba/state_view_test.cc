#include "mamba/state_view.h"

#include "tests/mamba/recurrent_cases.h"

namespace hybridkv {
namespace {

/// Fills a state with bit patterns of its own, NaN codes included.
void scribble(const StateView& state, std::uint64_t seed) {
  std::vector<std::byte> bytes = saved_state(state);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(mix(seed, i));
  restore(state, bytes);
}

TEST_CASE("law: snapshot, restore and copy keep every bit and touch nothing else") {
  for (const RecurrentSpec& spec : one_of_each_family())
    for (DType dtype : {DType::fp32, DType::bf16, DType::fp16}) {
      CAPTURE(family_name(spec));
      StatePages pages(spec, 3, dtype);
      scribble(pages.at(1), 5);
      const std::vector<std::byte> taken = saved_state(pages.at(1));
      const std::vector<std::byte> before = pages.bytes();
      zero_state(pages.at(1));
      CHECK(saved_state(pages.at(1)) == std::vector<std::byte>(taken.size(), std::byte{0}));
      restore(pages.at(1), taken);
      CHECK(pages.bytes() == before);
      copy_state(pages.at(1), pages.at(2));
      CHECK(saved_state(pages.at(2)) == taken);
      zero_state(pages.at(2));
      CHECK(pages.bytes() == before);
    }
}

TEST_CASE("law: a copy between places with other strides keeps every bit") {
  std::vector<std::byte> memory(4096, std::byte{0x5a});
  const StateView dense{make_view(memory, DType::bf16, row_major(std::vector<Axis>{{"step", 3, 0}, {"channel", 7, 0}})),
                        {}};
  const StateView strided{
      make_view(memory, DType::bf16, Layout({{"step", 3, 1}, {"channel", 7, 5}}, 500)), {}};
  scribble(dense, 1);
  copy_state(dense, strided);
  CHECK(saved_state(strided) == saved_state(dense));
  CHECK(load_element(strided.conv.address({2, 6}), DType::bf16) ==
        doctest::Approx(load_element(dense.conv.address({2, 6}), DType::bf16)));
}

TEST_CASE("fault: one changed bit is seen") {
  StatePages pages(GdnSpec{2, 4, 12, 10, 4}, 2, DType::fp32);
  scribble(pages.at(0), 5);
  copy_state(pages.at(0), pages.at(1));
  *pages.at(1).ssm.address({3, 9, 11}) ^= std::byte{1};
  CHECK(saved_state(pages.at(0)) != saved_state(pages.at(1)));
}

}  // namespace
}  // namespace hybridkv
