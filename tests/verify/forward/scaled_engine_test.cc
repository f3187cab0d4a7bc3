#include "verify/forward/scaled_engine.h"

#include <doctest/doctest.h>

#include "tests/verify/forward/forward_models.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: blocks that were set for a model are none of its small one, whose scans ask for theirs or take 16") {
  EngineSpec engine;
  engine.block_size_tokens = 1024;
  engine.mamba_block_size_tokens = 2048;
  const auto scaled = [&](const RecurrentSpec& family) {
    return scaled_engine(testing::small_hybrid(family, DType::bf16), engine, CacheMode::align, 0);
  };
  // A scan of mamba2 has chunks of a length of its own, one of gdn has not.
  const EngineSpec mamba2 = scaled(Mamba2Spec{8, 8, 16, 2, 4, 16}), gdn = scaled(GdnSpec{2, 4, 16, 16, 4});
  CHECK_FALSE(mamba2.block_size_tokens.has_value());
  CHECK_FALSE(mamba2.mamba_block_size_tokens.has_value());
  CHECK_FALSE(gdn.block_size_tokens.has_value());
  CHECK(gdn.mamba_block_size_tokens == 16);
}

}  // namespace
}  // namespace hybridkv
