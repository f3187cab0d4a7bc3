#include "mamba/reduction.h"

#include <doctest/doctest.h>

#include "mamba/recurrent_spec.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: a quarter of every family has a quarter of its heads and of their channels") {
  const Reduction quarter{4};
  CHECK(reduced(GdnSpec{16, 64, 128, 128, 4}, quarter) == GdnSpec{4, 16, 32, 32, 4});
  // 16 heads a group become 4, of 2 groups.
  CHECK(reduced(Mamba2Spec{128, 64, 128, 8, 4, 256}, quarter) == Mamba2Spec{8, 16, 32, 2, 4, 64});
  CHECK(reduced(KdaSpec{32, 128, 4}, quarter) == KdaSpec{8, 32, 4});
  CHECK(reduced(LinearAttentionSpec{64, 128}, quarter) == LinearAttentionSpec{16, 32});
  // Blocks of 256 channels become 64, of 2 heads.
  CHECK(reduced(RgLruSpec{2560, 10, 4}, quarter) == RgLruSpec{128, 2, 4});
  CHECK(reduced(XlstmSpec{8, 256, 512}, quarter) == XlstmSpec{2, 64, 128});
}

TEST_CASE("golden: a width without heads shrinks as heads times channels, to a sixteenth at a quarter") {
  const Reduction quarter{4};
  // The state of one channel is no width: of 16 elements 8 are left.
  CHECK(reduced(Mamba1Spec{8192, 16, 4}, quarter) == Mamba1Spec{512, 8, 4});
  CHECK(reduced(ShortConvSpec{2048, 3}, quarter) == ShortConvSpec{128, 3});
  CHECK(reduced(Rwkv4Spec{4096, 2048}, quarter) == Rwkv4Spec{256, 128});
  CHECK(reduced(RwkvSpec{7, 2048, 32, 64}, quarter) == RwkvSpec{7, 128, 8, 16});
  CHECK(reduced(CcaSpec{16, 4, 128, 2, 2, 512}, quarter) == CcaSpec{4, 1, 32, 2, 2, 32});
  CHECK(reduced(StreamConvsSpec{8, 128, 4608, 4}, quarter) == StreamConvsSpec{2, 32, 288, 4});
}

TEST_CASE("edge: of small layers at least one head and eight channels are left, or all where there are fewer") {
  const Reduction tiny{100};
  CHECK(reduced(Mamba1Spec{5, 3, 4}, tiny) == Mamba1Spec{5, 3, 4});
  CHECK(reduced(ShortConvSpec{70, 3}, tiny) == ShortConvSpec{8, 3});
  CHECK(reduced(KdaSpec{3, 12, 4}, tiny) == KdaSpec{1, 8, 4});
}

}  // namespace
}  // namespace hybridkv
