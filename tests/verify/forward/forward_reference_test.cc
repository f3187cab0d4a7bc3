#include "verify/forward/forward_reference.h"

#include <doctest/doctest.h>

#include "base/parallel.h"
#include "planner/plan.h"
#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"
#include "verify/scaled_model.h"

namespace hybridkv {
namespace {

ForwardNetwork network_of(std::uint64_t seed) {
  const ModelSpec model = scaled_model(testing::small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32), 1);
  EngineSpec engine;
  engine.num_blocks = 16;
  return make_network(model, make_plan(model, engine, {.max_model_lens = {1024}}), 16, seed);
}

TEST_CASE("law: whoever asks for the reference of a sequence gets the one that is computed first") {
  NetworkReferences networks;
  const auto references = networks.of(network_of(1));
  std::vector<std::shared_ptr<const ForwardReference>> got(32);
  parallel_for(got.size(), 8, [&](std::size_t i, std::size_t) { got[i] = references->of({1, 2, 3, i % 2}); });
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == got[i % 2]);
  CHECK(got[0] != got[1]);
}

TEST_CASE("law: networks that compute the same share their references, others do not") {
  NetworkReferences networks;
  const auto first = networks.of(network_of(1));
  CHECK(networks.of(network_of(1)) == first);
  CHECK(networks.of(network_of(2)) != first);
}

TEST_CASE("law: a run finds what it finds with references of runs before it") {
  const ModelSpec model = testing::small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32);
  NetworkReferences networks;
  ForwardSpec spec;
  spec.scale = 1;
  spec.width = 16;
  for (int run = 0; run < 2; ++run) {
    const ForwardReport shared = verify_forward(model, EngineSpec{}, spec, networks);
    const ForwardReport alone = verify_forward(model, EngineSpec{}, spec);
    REQUIRE(shared.results.size() == alone.results.size());
    CHECK(shared.passed());
    for (std::size_t i = 0; i < shared.results.size(); ++i)
      CHECK(shared.results[i].times_allowed() == alone.results[i].times_allowed());
  }
}

}  // namespace
}  // namespace hybridkv
