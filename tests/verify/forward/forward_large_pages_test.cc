// Two-level pages through the forward pass: blocks of every kind in large pages that go from kind to kind.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "engines/jenga/rules.h"
#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"

namespace hybridkv {
namespace {

using testing::full;
using testing::owner_of;
using testing::small_families;
using testing::small_hybrid;

ForwardReport run(const ModelSpec& model, const ForwardSpec& spec) {
  EngineSpec engine;
  engine.rules = &rules_of_jenga;
  engine.strategy = Strategy::two_level;
  return verify_forward(model, engine, spec);
}

ForwardSpec unscaled() {
  ForwardSpec spec;
  spec.scale = 1;
  return spec;
}


TEST_CASE("law: every family computes through two-level pages what it computes without them") {
  for (const RecurrentSpec& family : small_families())
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      CAPTURE(family_name(family));
      CAPTURE(to_string(dtype));
      const ForwardReport report = run(small_hybrid(family, dtype, full, 4), unscaled());
      CHECK(report.passed());
      for (const ForwardResult& result : report.results) {
        CAPTURE(to_string(result.forward_case));
        CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
        if (result.forward_case == ForwardCase::recycling) CHECK(result.reused_blocks > 0);
        if (result.forward_case == ForwardCase::preemption && result.status == ForwardStatus::passed)
          CHECK(result.preemptions > 0);
      }
    }
}

TEST_CASE("law: so do windows and chunks, whose blocks are a kind of their own") {
  for (const AttentionSpec& other : {AttentionSpec{AttentionKind::sliding_window, 4, 2, 16, 16, 20},
                                     AttentionSpec{AttentionKind::chunked_local, 4, 2, 16, 16, 24}}) {
    CAPTURE(to_string(other.kind));
    ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, full, 8);
    model.layers[3].attention = other;
    const ForwardReport report = run(model, unscaled());
    CHECK(report.passed());
    for (const ForwardResult& result : report.results)
      if (result.forward_case == ForwardCase::window) CHECK(result.status == ForwardStatus::passed);
  }
}

TEST_CASE("law: large pages that go back make requests lose their blocks, and these are computed again") {
  ForwardSpec spec = unscaled();
  spec.cases = {ForwardCase::preemption};
  spec.modes = {CacheMode::align};
  const ForwardReport report = run(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, full, 4), spec);
  REQUIRE(report.results.size() == 1);
  CHECK(report.results.front().status == ForwardStatus::passed);
  CHECK(report.results.front().preemptions > 0);
}

TEST_CASE("fault: every fault of an engine with block tables is found") {
  for (const ForwardFault fault : forward_faults_of(rules_of_jenga)) {
    CAPTURE(to_string(fault));
    ForwardSpec spec = unscaled();
    spec.fault = fault;
    spec.cases = {owner_of(info_of(fault))};
    const bool gives_back = fault == ForwardFault::early_release;
    const AttentionSpec attention = gives_back ? AttentionSpec{AttentionKind::sliding_window, 4, 2, 16, 16, 20} : full;
    const ForwardReport report = run(testing::model_for(fault, GdnSpec{2, 4, 16, 16, 4}, DType::fp32, attention), spec);
    CHECK(report.caught());
    REQUIRE(report.weakest_find() != nullptr);
    CHECK(report.weakest_find()->times_allowed() > 3);
  }
}

TEST_CASE("fault: a state in a large page of attention is found, and refused where there are none") {
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, full, 4);
  ForwardSpec spec = unscaled();
  spec.layout_fault = Fault::foreign_large_page;
  const ForwardReport report = run(model, spec);
  CHECK(report.weakest_find() != nullptr);
  CHECK(!report.passed());
  CHECK_THROWS_WITH_AS(verify_forward(model, EngineSpec{}, spec), doctest::Contains("foreign-large-page"), InputError);
}

}  // namespace
}  // namespace hybridkv
