#include "verify/forward/forward_network.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "planner/plan.h"
#include "tests/verify/forward/forward_models.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: pairs of channels are rotated by angles of the position, in every head alike") {
  std::vector<double> heads{1, 2, 3, 4, 1, 2, 3, 4};
  rotate<double>(heads, 4, 0, 3);
  // The first pair of two by 3 * 10000^0 = 3, the second by 3 * 10000^(-1/2) = 0.03.
  const std::vector<double> rotated{std::cos(3.0) - 2 * std::sin(3.0), std::sin(3.0) + 2 * std::cos(3.0),
                                    3 * std::cos(0.03) - 4 * std::sin(0.03), 3 * std::sin(0.03) + 4 * std::cos(0.03)};
  for (std::size_t i = 0; i < heads.size(); ++i) CHECK(heads[i] == doctest::Approx(rotated[i % 4]));
  // Behind two channels that stay there is one pair.
  std::vector<double> latent{1, 2, 1, 2};
  rotate<double>(latent, 4, 2, 3);
  CHECK(latent[0] == 1);
  CHECK(latent[1] == 2);
  CHECK(latent[2] == doctest::Approx(rotated[0]));
  CHECK(latent[3] == doctest::Approx(rotated[1]));
}

TEST_CASE("edge: channels are rotated by position but for those of the latent itself, and none beside an encoder") {
  CHECK(unrotated_channels({.kind = AttentionKind::mla, .head_size_k = 24, .head_size_v = 16}) == 16);
  CHECK(unrotated_channels({.kind = AttentionKind::full, .head_size_k = 24, .head_size_v = 16}) == 0);
  CHECK(unrotated_channels({.kind = AttentionKind::cross, .head_size_k = 24, .head_size_v = 16}) == 24);
}

TEST_CASE("edge: a layer that reads a layer of a single query head has the query heads of its own") {
  const AttentionSpec one_head{AttentionKind::full, 1, 1, 16, 16, 0};
  ModelSpec model = testing::small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, one_head, 2);
  model.layers.push_back({.shared = SharedKv{1, 3, std::nullopt}});
  EngineSpec engine;
  engine.num_blocks = 16;
  const ForwardNetwork network = make_network(model, make_plan(model, engine, {.max_model_lens = {1024}}), 16, 1);
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[2].reads == 1);
  CHECK(network.layers[2].attention->geometry.query_heads == 3);
}

}  // namespace
}  // namespace hybridkv
