// `verify` of caches that keep scales: attention runs over what the bytes stand for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "attention/reference.h"
#include "base/npy.h"
#include "tests/scratch_folder.h"
#include "tests/verify/check_named.h"
#include "tests/verify/plans.h"
#include "tests/verify/transfer/plan_traffic.h"
#include "verify/attention_case.h"
#include "verify/fault/plant.h"
#include "verify/transfer/traffic.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::check_named;

namespace {

CachePlan plan_of(const EngineSpec& caches, std::int64_t rope = 64) {
  AttentionSpec attention{AttentionKind::full, 4, 2, 32, 32, 0};
  if (caches.kv_format && keeps_latents(*caches.kv_format)) attention = {AttentionKind::mla, 4, 1, 512 + rope, 512, 0};
  const ModelSpec model = testing::hybrid_model("formats", 6, attention, GdnSpec{2, 4, 16, 16, 4},
                                                [](std::int64_t i) { return i % 3 == 1; });
  EngineSpec engine = caches;
  engine.cache_mode = CacheMode::align;
  engine.ssm_dtype = DType::fp32;
  engine.attention_pack_size = 2;
  engine.memory_bytes = std::int64_t(64) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {4096}});
}

}  // namespace

TEST_CASE("law: attention is run over every format with a codec, and over elements with a scale of the tensor") {
  const auto check = [](const EngineSpec& caches, std::int64_t rope = 64) {
    const CachePlan plan = plan_of(caches, rope);
    const VerifyReport report = verify_plan(plan, {});
    CHECK(report.passed());
    CHECK(report.first_unproven() == nullptr);
    for (const char* name : {"attention-full", "attention-chunked"}) {
      CHECK_MESSAGE(check_named(report, name).status == CheckStatus::passed, check_named(report, name).message);
      CHECK(check_named(report, name).count > 0);
      CHECK(check_named(report, name).max_error > 0);
    }
    // Faults of the tables and merges are found over encoded values as over plain ones, scales read from the wrong
    // place as well, each by its own check alone: the scales are back where they were when the next check reads.
    for (const Fault fault : {Fault::stale_block, Fault::lost_merge, Fault::scale_exchanged}) {
      CAPTURE(to_string(fault));
      VerifySpec spec;
      spec.fault = fault;
      const VerifyReport faulty = verify_plan(plan, spec);
      std::int64_t failed = 0;
      for (const CheckResult& result : faulty.checks) failed += result.status == CheckStatus::failed;
      CHECK(failed == 1);
      const CheckResult& owner = check_named(faulty, info_of(fault).found_by);
      CHECK(owner.status == CheckStatus::failed);
      // Far from the limit, so that it does not hang on the seed.
      if (fault == Fault::scale_exchanged) CHECK(owner.max_error > 100 * owner.tolerance);
    }
  };
  for (const KvFormat format : all_kv_formats) {
    CAPTURE(to_string(format));
    if (has_codec(format)) check({.kv_format = format});
  }
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2, DType::int8}) {
    CAPTURE(to_string(dtype));
    check({.kv_dtype = dtype});
  }
  check({.kv_format = KvFormat::fp8_ds_mla}, 0);
}

TEST_CASE("law: neighbouring scales differ by powers of two, so that one from another place shows") {
  for (const KvFormat format : all_kv_formats) {
    if (!has_codec(format)) continue;
    CAPTURE(to_string(format));
    const testing::PlanTraffic bound(plan_of({.kv_format = format}));
    const CachePlan& plan = bound.plan;
    const std::vector<BoundView>& views = bound.views;
    std::size_t kept = 0;
    while (!plan.specs[views[kept].view.spec].attention) ++kept;
    const AttentionGeometry& attention = *plan.specs[views[kept].view.spec].attention;
    const KvCodec codec = kv_codec(bound.traffic, kept, false);
    const std::int64_t stored = key_value_bytes(views[kept], attention).key.extent("channel");
    std::vector<float> values(static_cast<std::size_t>(decoded_channels(codec, stored)));
    std::vector<std::byte> row(static_cast<std::size_t>(stored * element_bytes(attention.dtype)));
    float least = 1, most = 0, least_of_16 = 1;
    for (std::int64_t slot = 0; slot < 32; ++slot) {
      kv_row(bound.traffic, kept, false, slot, 0, row);
      decode_row(codec, attention.dtype, row.data(), values);
      float largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      least = std::min(least, largest);
      most = std::max(most, largest);
      for (std::size_t first = 0; first + 16 <= values.size(); first += 16) {
        float of_16 = 0;
        for (std::size_t i = first; i < first + 16; ++i) of_16 = std::max(of_16, std::abs(values[i]));
        least_of_16 = std::min(least_of_16, of_16);
      }
    }
    // Values that are alike in every row come to 1.3 at most.
    CHECK(most > 3 * least);
    // They are halved four times at most, so that the largest of 16 is never lost beside others.
    CHECK(most < 64 * least_of_16);
  }
}

TEST_CASE("edge: scales cannot be exchanged where there are none, or where none is known") {
  for (const EngineSpec& caches : {EngineSpec{.kv_dtype = DType::bf16}, EngineSpec{.kv_dtype = DType::uint8},
                                   EngineSpec{.kv_format = KvFormat::turboquant_k8v4}}) {
    VerifySpec spec;
    spec.fault = Fault::scale_exchanged;
    CHECK_THROWS_WITH_AS(verify_plan(plan_of(caches), spec),
                         doctest::Contains("no attention layer keeps values with scales"), NoPlaceError);
  }
  // A single fresh prompt reads nothing from the cache.
  VerifySpec spec;
  spec.fault = Fault::scale_exchanged;
  spec.requests = {{8, 8, false}};
  CHECK_THROWS_WITH_AS(verify_plan(plan_of({.kv_format = KvFormat::int8_per_token_head}), spec),
                       doctest::Contains("reads cached scales"), NoPlaceError);
}

TEST_CASE("law: scales of the tensor differ between layers, K and V, and nothing saturates") {
  const testing::PlanTraffic bound(plan_of({.kv_dtype = DType::fp8_e4m3}));
  std::set<float> scales;
  std::size_t kept = 0;
  for (std::size_t view = 0; view < bound.views.size(); ++view)
    if (bound.plan.specs[bound.views[view].view.spec].attention)
      for (const bool is_value : {false, true}) {
        const float scale = kv_codec(bound.traffic, view, is_value).scale;
        CHECK(scale * 448 >= 1);
        scales.insert(scale);
        ++kept;
      }
  CHECK(scales.size() == kept);
}

TEST_CASE("regression: a format without a codec is not proven, and neither passed nor failed") {
  for (const KvFormat format : all_kv_formats) {
    if (has_codec(format)) continue;
    CAPTURE(to_string(format));
    const VerifyReport report = verify_plan(plan_of({.kv_format = format}), {});
    CHECK(!report.passed());
    CHECK(report.first_failure() == nullptr);
    REQUIRE(report.first_unproven() != nullptr);
    CHECK(report.first_unproven()->name == "attention-full");
    CHECK(check_named(report, "kv-written").status == CheckStatus::passed);
    VerifySpec spec;
    spec.fault = Fault::lost_kv;
    const VerifyReport faulty = verify_plan(plan_of({.kv_format = format}), spec);
    CHECK(faulty.first_failure() != nullptr);
    CHECK(faulty.first_unproven() == nullptr);
  }
}

TEST_CASE("law: what is kept with scales is exported as the values and gives the same output") {
  for (const EngineSpec& caches :
       {EngineSpec{.kv_format = KvFormat::int4_per_token_head}, EngineSpec{.kv_format = KvFormat::nvfp4},
        EngineSpec{.kv_dtype = DType::fp8_e4m3}}) {
    const testing::ScratchFolder scratch;
    VerifySpec spec;
    spec.export_folder = scratch.path / "export";
    CHECK(verify_plan(plan_of(caches), spec).passed());
    const std::filesystem::path layer = spec.export_folder / "layer_1";
    const AttentionOutput<double> again = reference_attention(load_attention_case(layer).inputs);
    const auto expected = read_npy(layer / "out_ref_f64.npy");
    const auto wanted = expected.values<double>();
    REQUIRE(wanted.size() == again.out.size());
    // The files hold the values in float32, the reference reads code times scale in float64.
    for (std::size_t i = 0; i < again.out.size(); ++i) REQUIRE(std::abs(again.out[i] - wanted[i]) <= 1e-6);
  }
}

TEST_CASE("edge: what is kept in a format without a codec is not exported, and nothing is left behind") {
  const testing::ScratchFolder scratch;
  for (const KvFormat format : {KvFormat::turboquant_3bit_nc, KvFormat::turboquant_k8v4}) {
    VerifySpec spec;
    spec.export_folder = scratch.path / "export";
    CHECK_THROWS_WITH_AS(verify_plan(plan_of({.kv_format = format}), spec),
                         doctest::Contains("are not computed here; export with another engine.kv_dtype"), InputError);
    CHECK(std::filesystem::is_empty(scratch.path));
  }
}

TEST_CASE("regression: unequal heads are refused for export in channels, not in bytes") {
  const testing::ScratchFolder scratch;
  VerifySpec spec;
  spec.export_folder = scratch.path / "export";
  CHECK_THROWS_WITH_AS(verify_plan(plan_of({.kv_format = KvFormat::fp8_ds_mla}), spec),
                       doctest::Contains("keep K of 576 and V of 512 channels"), InputError);
}
