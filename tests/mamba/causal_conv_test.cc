#include "mamba/causal_conv.h"

#include <doctest/doctest.h>

#include <vector>

namespace hybridkv {
namespace {

TEST_CASE("golden: two tokens of two channels through two taps, by hand; nothing behind the weights counts") {
  const std::vector<float> inputs{2, 20, 3, 30}, bias{1, -1};
  const std::vector<float> weights{0.5f, 1, 2, 0.25f, 1e6f, 1e6f};  // the last two belong to somebody else
  std::vector<float> history{1, 10};
  // 1 + 1 * 0.5 + 2 * 2 and -1 + 10 * 1 + 20 * 0.25; then 1 + 2 * 0.5 + 3 * 2 and -1 + 20 * 1 + 30 * 0.25.
  CHECK(causal_conv(inputs, history, std::span(weights).first(4), bias) == std::vector<float>{5.5f, 14, 8, 26.5f});
  CHECK(history == std::vector<float>{3, 30});
}

}  // namespace
}  // namespace hybridkv
