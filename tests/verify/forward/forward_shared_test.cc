// Layers that read the K and V of others, and latents with a window, through the forward pass.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/verify/forward/forward_checks.h"

namespace hybridkv {
namespace {

using testing::four_layers;
using testing::full;
using testing::unscaled_report;

/// Two layers of attention among gdn, and behind them layers with other query heads that read the second and the first.
ModelSpec with_readers_of(const AttentionSpec& attention) {
  ModelSpec model = four_layers();
  for (LayerSpec& layer : model.layers)
    if (layer.attention) layer.attention = attention;
  model.layers.push_back({.shared = SharedKv{3, 2 * attention.query_heads, std::nullopt}});
  model.layers.push_back({.shared = SharedKv{1, attention.query_heads, std::nullopt}});
  return model;
}

AttentionSpec latent(std::int64_t window) {
  return {.kind = AttentionKind::mla, .query_heads = 4, .kv_heads = 1, .head_size_k = 24, .head_size_v = 16,
          .window_tokens = window};
}

EngineSpec usual_engine() {
  EngineSpec engine;
  engine.memory_bytes = std::int64_t{1} << 30;
  return engine;
}

void require_passed(const ForwardReport& report) {
  CHECK(report.passed());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
  }
}

}  // namespace

TEST_CASE("law: layers that read other layers' K and V compute through blocks what they compute without") {
  require_passed(unscaled_report(with_readers_of(full), usual_engine()));
  require_passed(unscaled_report(with_readers_of(testing::window), usual_engine()));
  require_passed(unscaled_report(with_readers_of(latent(0)), usual_engine()));
}

TEST_CASE("golden: a layer that reads another one than it should is found") {
  const ForwardReport report = unscaled_report(with_readers_of(full), usual_engine(), ForwardFault::foreign_source,
                                               {ForwardCase::shared_prefix});
  int found = 0;
  for (const ForwardResult& result : report.results) {
    if (result.status == ForwardStatus::does_not_apply) continue;  // no prefix is found again in mode none
    CHECK(result.status == ForwardStatus::failed);
    CHECK(result.planted > 0);
    CHECK(result.max_error > 100 * result.tolerance);
    ++found;
  }
  CHECK(found > 0);
}

TEST_CASE("edge: the fault has no place where no layer shares") {
  for (const ForwardResult& result : unscaled_report(four_layers(), usual_engine(), ForwardFault::foreign_source,
                                                     {ForwardCase::shared_prefix}).results)
    CHECK(result.status == ForwardStatus::does_not_apply);
}

TEST_CASE("law: latents with a window compute through blocks what they compute without, and early releases are found") {
  ModelSpec model = four_layers();
  model.layers[1].attention = latent(0);
  model.layers[3].attention = latent(20);
  require_passed(unscaled_report(model, usual_engine()));
  const ForwardReport report = unscaled_report(model, usual_engine(), ForwardFault::early_release,
                                               {ForwardCase::window});
  CHECK(std::any_of(report.results.begin(), report.results.end(), [](const ForwardResult& result) {
    return result.status == ForwardStatus::failed && result.planted > 0;
  }));
}

}  // namespace hybridkv
