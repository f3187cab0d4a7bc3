// Forward passes through caches that keep scales: a right engine is within its bound, a fault of an engine beyond it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"

namespace hybridkv {
namespace {

using testing::small_hybrid;

/// Every way of keeping scales that has a codec.
std::vector<EngineSpec> scaled_caches() {
  std::vector<EngineSpec> engines;
  for (const KvFormat format : all_kv_formats) {
    if (!has_codec(format)) continue;
    engines.emplace_back().kv_format = format;
  }
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2, DType::int8}) engines.emplace_back().kv_dtype = dtype;
  return engines;
}

std::string_view name_of(const EngineSpec& engine) {
  return engine.kv_format ? to_string(*engine.kv_format) : to_string(*engine.kv_dtype);
}

ForwardReport run(EngineSpec engine, std::optional<ForwardFault> fault = {}, std::optional<Fault> layout_fault = {}) {
  engine.attention_pack_size = 2;
  engine.ssm_dtype = DType::fp32;
  const bool latent = engine.kv_format == KvFormat::fp8_ds_mla;
  AttentionSpec attention{AttentionKind::full, 4, 2, 32, 32, 0};
  if (latent) attention = {AttentionKind::mla, 2, 1, 576, 512, 0};
  ForwardSpec spec;
  spec.scale = 1;
  spec.modes = {CacheMode::align};
  spec.fault = fault;
  spec.layout_fault = layout_fault;
  if (fault || layout_fault) spec.cases = {fault ? ForwardCase::copy_on_write : ForwardCase::shared_prefix};
  else if (latent) spec.cases = {ForwardCase::shared_prefix, ForwardCase::copy_on_write, ForwardCase::drafts};
  return verify_forward(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16, attention, 4), engine, spec);
}

TEST_CASE("law: a right engine stays within its bound in every format with scales") {
  std::string nearest;
  for (const EngineSpec& engine : scaled_caches()) {
    CAPTURE(name_of(engine));
    const ForwardReport report = run(engine);
    CHECK(report.passed());
    double most = 0, widest = 0;
    for (const ForwardResult& result : report.results) {
      CHECK_MESSAGE(result.status != ForwardStatus::failed, to_string(result.forward_case), ": ", result.message);
      most = std::max(most, result.times_allowed());
      widest = std::max(widest, result.tolerance);
    }
    CHECK(most < 0.75);
    CHECK(widest < 0.5);
    nearest +=
        fmt::format("\n  {}: {:.2f} of the bound at most, which is at most {:.1e}", name_of(engine), most, widest);
  }
  MESSAGE("a right engine reaches" << nearest);
}

TEST_CASE("law: a latent without a part for RoPE runs in the fixed bytes of its format") {
  ForwardSpec spec;
  spec.scale = 1;
  spec.modes = {CacheMode::align};
  spec.cases = {ForwardCase::shared_prefix, ForwardCase::copy_on_write};
  EngineSpec engine{.ssm_dtype = DType::fp32};
  engine.kv_format = KvFormat::fp8_ds_mla;
  const AttentionSpec latent{AttentionKind::mla, 2, 1, 512, 512, 0};
  CHECK(verify_forward(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16, latent, 4), engine, spec).passed());
}

TEST_CASE("fault: faults of an engine and of a layout are found in every format with scales") {
  std::string margins;
  for (const EngineSpec& engine : scaled_caches()) {
    CAPTURE(name_of(engine));
    const ForwardReport copied = run(engine, ForwardFault::missed_page_copy);
    CHECK(copied.caught());
    const ForwardReport aliased = run(engine, {}, Fault::pack_index);
    CHECK(aliased.caught());
    margins += fmt::format("\n  {}: {:.0f} and {:.0f} times the bound", name_of(engine),
                           copied.weakest_find() ? copied.weakest_find()->times_allowed() : 0,
                           aliased.weakest_find() ? aliased.weakest_find()->times_allowed() : 0);
  }
  MESSAGE("missed-page-copy and pack-index found at" << margins);
}

}  // namespace
}  // namespace hybridkv
