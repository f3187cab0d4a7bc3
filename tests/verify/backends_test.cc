// Every backend of the table proves a layout: it runs where it claims a layer, and faults are found through it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/npy.h"
#include "tests/scratch_folder.h"
#include "tests/verify/check_named.h"
#include "tests/verify/forward/forward_models.h"
#include "tests/verify/plans.h"
#include "verify/attention_check.h"
#include "verify/fault/plant.h"
#include "verify/forward/forward.h"
#include "verify/verify.h"

namespace hybridkv {
namespace {

using testing::check_named;
using testing::full;
using testing::small_hybrid;
using testing::small_plan;
using testing::window;


TEST_CASE("law: verify has a check for every backend but the reference") {
  std::set<AttentionBackend> checked;
  for (const AttentionWay& way : attention_ways) checked.insert(way.backend);
  CHECK(checked == std::set<AttentionBackend>(compared_attention_backends.begin(), compared_attention_backends.end()));
  CHECK(!checked.contains(AttentionBackend::reference));
}

TEST_CASE("law: every backend that claims a plan's layers computes all outputs, one that declines computes none") {
  for (const DType dtype : {DType::bf16, DType::fp32, DType::fp8_e4m3}) {
    CAPTURE(to_string(dtype));
    const VerifyReport report = verify_plan(small_plan(3, CacheMode::align, dtype), {});
    CHECK(report.passed());
    const std::int64_t outputs = check_named(report, "attention-full").count;
    CHECK(outputs > 0);
    for (const AttentionWay& way : attention_ways) {
      CAPTURE(way.check);
      const CheckResult& check = check_named(report, way.check);
      // Elements of fp8 are kept with a scale of the tensor, which the kernels of paged do not read.
      const bool claims = feature_support(AttentionFeature::scaled_kv).by(way.backend) || dtype != DType::fp8_e4m3;
      CHECK(check.status == (claims ? CheckStatus::passed : CheckStatus::declined));
      CHECK(check.count == (claims ? outputs : 0));
      CHECK((check.max_error > 0) == claims);
      CHECK(check.message.empty() == claims);
      if (!claims) CHECK(check.message.starts_with("6 of 6 layers declined: backend paged does not support scaled_kv"));
    }
  }
}

TEST_CASE("fault: a table with an entry taken away is found through each backend, by its own check") {
  for (const Fault fault : {Fault::stale_block, Fault::stale_cascade, Fault::stale_paged}) {
    CAPTURE(to_string(fault));
    VerifySpec spec;
    spec.fault = fault;
    const VerifyReport report = verify_plan(small_plan(2), spec);
    for (const AttentionWay& way : attention_ways) {
      CAPTURE(way.check);
      const CheckResult& check = check_named(report, way.check);
      const bool owns = info_of(fault).found_by == way.check;
      CHECK(check.status == (owns ? CheckStatus::failed : CheckStatus::passed));
      if (owns) CHECK(check.max_error > 100 * check.tolerance);
    }
  }
  VerifySpec spec;
  spec.fault = Fault::stale_paged;
  CHECK_THROWS_AS(verify_plan(small_plan(2, CacheMode::align, DType::fp8_e4m3), spec), NoPlaceError);
}

TEST_CASE("fault: a stale slot that is read with a weight of 0 is found, as what nobody wrote is a NaN") {
  for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    CAPTURE(to_string(dtype));
    VerifySpec spec;
    spec.fault = Fault::stale_slot;
    const VerifyReport report = verify_plan(small_plan(2, CacheMode::align, dtype), spec);
    CHECK(check_named(report, "attention-full").status == CheckStatus::failed);
    CHECK(check_named(report, "attention-chunked").status == CheckStatus::passed);
  }
}

TEST_CASE("law: an exported layer has the output of every backend, each within rounding of the reference") {
  const testing::ScratchFolder folder;
  VerifySpec spec;
  spec.export_folder = folder.path / "export";
  CHECK(verify_plan(small_plan(2), spec).passed());
  const std::filesystem::path layer = spec.export_folder / "layer_1";
  for (const auto& [tensor, exact] : {std::pair{"out", "out_ref_f64.npy"}, std::pair{"lse", "lse_ref_f64.npy"}}) {
    const NpyArray reference = read_npy(layer / exact);
    for (const char* suffix : {"", "_cascade", "_paged"}) {
      const std::string name = std::string(tensor) + suffix + ".npy";
      CAPTURE(name);
      const NpyArray output = read_npy(layer / name);
      REQUIRE(output.shape == reference.shape);
      double largest = 0;
      for (std::size_t i = 0; i < reference.values<double>().size(); ++i)
        largest = std::max(largest, std::abs(output.values<float>()[i] - reference.values<double>()[i]));
      CHECK(largest < 1e-5);
    }
  }
}

TEST_CASE("edge: an exported layer says of each backend whether it ran, and of one that declined why") {
  const testing::ScratchFolder folder;
  VerifySpec spec;
  spec.export_folder = folder.path / "export";
  CHECK(verify_plan(small_plan(2, CacheMode::align, DType::fp8_e4m3), spec).passed());
  std::ifstream file(spec.export_folder / "layer_1" / "backends.json");
  const auto backends = nlohmann::json::parse(file);
  REQUIRE(backends.size() == compared_attention_backends.size());
  for (const auto& backend : backends) {
    CAPTURE(backend.dump());
    // Elements of fp8 are kept with a scale, which paged does not read.
    const bool declines = backend.at("name") == "paged";
    CHECK(backend.at("ran") == !declines);
    CHECK(backend.contains("reason") == declines);
    if (declines)
      CHECK(backend.at("reason").get<std::string>().starts_with("backend paged does not support scaled_kv"));
  }
}

ForwardReport forward(const AttentionSpec& attention, std::vector<AttentionBackend> backends,
                      std::vector<ForwardCase> cases, std::optional<Fault> layout_fault = {},
                      std::optional<ForwardFault> fault = {}) {
  EngineSpec engine;
  engine.attention_pack_size = 2;
  ForwardSpec spec;
  spec.scale = 1;
  spec.modes = {CacheMode::none, CacheMode::align};
  spec.cases = std::move(cases);
  spec.backends = std::move(backends);
  spec.fault = fault;
  spec.layout_fault = layout_fault;
  return verify_forward(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16, attention, 4), engine, spec);
}

TEST_CASE("law: every backend computes every layer's batch of a forward pass that it claims") {
  for (const AttentionSpec& attention : {full, window}) {
    CAPTURE(to_string(attention.kind));
    const ForwardReport report = forward(attention, ForwardSpec{}.backends, {});
    CHECK(report.passed());
    for (const ForwardResult& result : report.results) {
      if (result.status == ForwardStatus::does_not_apply) continue;
      CAPTURE(to_string(result.forward_case));
      REQUIRE(result.backends.size() == compared_attention_backends.size());
      const std::int64_t batches = result.backends.front().batches;
      CHECK(batches > 0);
      for (const BackendWork& work : result.backends) {
        CAPTURE(to_string(work.backend));
        const bool claims = work.backend != AttentionBackend::cascade || attention.kind == AttentionKind::full;
        CHECK(work.batches == (claims ? batches : 0));
        CHECK(work.declined == (claims ? 0 : batches));
        CHECK(work.reason.empty() == claims);
        // They round otherwise: not one backend under two names.
        if (work.backend == AttentionBackend::paged) CHECK(work.times_allowed > 0);
        if (work.backend == AttentionBackend::unified) CHECK(work.times_allowed == 0);
        CHECK(work.times_allowed < 0.5);
      }
    }
  }
}

TEST_CASE("law: a network that goes on with any one backend is right, with the reference where none claims a layer") {
  for (const AttentionBackend backend : compared_attention_backends)
    for (const AttentionSpec& attention : {full, window}) {
      CAPTURE(to_string(backend));
      CAPTURE(to_string(attention.kind));
      CHECK(forward(attention, {backend}, {}).passed());
    }
}

TEST_CASE("fault: faults of the layout and of the engine are found through each backend on its own") {
  for (const AttentionBackend backend : compared_attention_backends) {
    CAPTURE(to_string(backend));
    for (const Fault fault : {Fault::stride_order, Fault::pack_index, Fault::null_block_used}) {
      CAPTURE(to_string(fault));
      // The null block shows where two requests hold it at once.
      const bool needs_two = fault == Fault::null_block_used;
      const ForwardCase in = needs_two ? ForwardCase::preemption : ForwardCase::shared_prefix;
      CHECK(forward(full, {backend}, {in}, fault).caught());
    }
    CHECK(forward(full, {backend}, {ForwardCase::copy_on_write}, {}, ForwardFault::missed_page_copy).caught());
    CHECK(forward(full, {backend}, {ForwardCase::preemption}, {}, ForwardFault::no_recompute).caught());
  }
}

TEST_CASE("fault: a backend that gives something else than the one that drives the network is found") {
  BackendWork work{.backend = AttentionBackend::paged};
  AttentionOutput<float> right;
  right.out = {1, 2, 3};
  right.lse = {0, -INFINITY, NAN};
  work.note_difference(right, right, AttentionBackend::unified, 3);
  CHECK(work.times_allowed == 0);
  AttentionOutput<float> wrong = right;
  wrong.out[1] = 2.25f;
  work.note_difference(wrong, right, AttentionBackend::unified, 3);
  CHECK(work.times_allowed > 7);
  CHECK(work.message.starts_with("layer 3, element 1 of the output: backend paged gives 2.25, unified 2"));
  wrong.lse[1] = 0;
  work.note_difference(wrong, right, AttentionBackend::unified, 3);
  CHECK(work.times_allowed == std::numeric_limits<double>::infinity());
  BackendWork total{.backend = AttentionBackend::paged};
  total.add(work);
  CHECK(total.message == work.message);
  CHECK(total.times_allowed == work.times_allowed);
}

}  // namespace
}  // namespace hybridkv
