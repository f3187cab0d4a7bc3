#include "verify/forward.h"

#include <doctest/doctest.h>

#include "layout/error.h"
#include "tests/verify/forward_models.h"

namespace hybridkv {
namespace {

using testing::small_families;
using testing::small_hybrid;

ForwardSpec unscaled() {
  ForwardSpec spec;
  spec.scale = 1;
  return spec;
}

ForwardReport run(const ModelSpec& model, std::int64_t pack, const ForwardSpec& spec = unscaled()) {
  EngineSpec engine;
  engine.attention_pack_size = pack;
  return verify_forward(model, engine, spec);
}

void check_passed(const ForwardReport& report) {
  CHECK(report.passed());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    CAPTURE(to_string(result.mode));
    CAPTURE(result.max_error);
    CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
  }
}

TEST_CASE("law: every family in every pack size computes through pages what it computes without them, fp32") {
  for (const RecurrentSpec& family : small_families())
    for (const std::int64_t pack : {1, 2, 3, 5}) {
      CAPTURE(family_name(family));
      CAPTURE(pack);
      ForwardSpec spec = unscaled();
      if (pack != 1 && pack != 3) spec.modes = {CacheMode::align};
      const ForwardReport report = run(small_hybrid(family, DType::fp32), pack, spec);
      check_passed(report);
      CHECK(report.results.front().tolerance < 1.2e-5);
    }
}

TEST_CASE("law: the same in bf16, fp16 and with fp8 K and V") {
  for (const RecurrentSpec& family : small_families()) {
    CAPTURE(family_name(family));
    ForwardSpec spec = unscaled();
    spec.modes = {CacheMode::align};
    check_passed(run(small_hybrid(family, DType::bf16), 3, spec));
    check_passed(run(small_hybrid(family, DType::fp16), 2, spec));
    EngineSpec engine;
    engine.kv_dtype = DType::fp8_e4m3;
    check_passed(verify_forward(small_hybrid(family, DType::bf16), engine, spec));
  }
}

TEST_CASE("law: every kind of attention, both kinds in one layer, several specs, every order of a page") {
  const RecurrentSpec recurrent = GdnSpec{2, 4, 16, 16, 4};
  const AttentionSpec window{AttentionKind::sliding_window, 4, 2, 16, 16, 20};
  check_passed(run(small_hybrid(recurrent, DType::fp32, {AttentionKind::mla, 4, 1, 24, 16, 0}), 2));
  check_passed(run(small_hybrid(recurrent, DType::fp32, window), 2));
  check_passed(run(small_hybrid(recurrent, DType::fp32, {AttentionKind::chunked_local, 4, 2, 16, 16, 24}), 3));
  ModelSpec both = small_hybrid(recurrent, DType::fp32);
  for (LayerSpec& layer : both.layers) layer = {AttentionSpec{AttentionKind::full, 4, 2, 16, 16, 0}, recurrent};
  check_passed(run(both, 3));
  ModelSpec several = small_hybrid(recurrent, DType::fp32);
  several.layers[3].attention = several.layers[7].attention = window;
  several.layers[4].recurrent = ShortConvSpec{64, 3};
  check_passed(run(several, 1));
  for (const PhysicalOrder order : {PhysicalOrder::hnd, PhysicalOrder::head_major}) {
    EngineSpec engine;
    engine.physical_order = order;
    engine.attention_pack_size = 5;
    check_passed(verify_forward(small_hybrid(recurrent, DType::fp32), engine, unscaled()));
  }
}

TEST_CASE("edge: what takes place is counted, and a mode without prefixes says so") {
  const ForwardReport report = run(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32), 2);
  REQUIRE(report.results.size() == 3 * all_forward_cases().size());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    const bool needs_prefix = result.forward_case <= ForwardCase::copy_on_write;
    if (result.mode == CacheMode::none && needs_prefix) {
      CHECK(result.status == ForwardStatus::does_not_apply);
      CHECK(result.message == "mode none keeps no state behind a prefix, so none is found again");
      continue;
    }
    CHECK(result.tokens > 0);
    CHECK((result.hit_tokens > 0) == needs_prefix);
    CHECK((result.preemptions > 0) == (result.forward_case == ForwardCase::preemption));
    CHECK((result.rejected > 0) == (result.forward_case == ForwardCase::drafts));
    if (result.forward_case == ForwardCase::recycling) CHECK(result.reused_blocks > 20);
  }
}

TEST_CASE("fault: every fault of an engine changes the output in the case that is there for it") {
  for (const ForwardFaultInfo& info : all_forward_faults())
    for (const std::int64_t pack : {1, 3}) {
      CAPTURE(info.name);
      ForwardSpec spec = unscaled();
      spec.fault = info.fault;
      const ForwardReport report = run(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16), pack, spec);
      REQUIRE(report.first_failure() != nullptr);
      bool found = false;
      for (const ForwardResult& result : report.results)
        found = found || (result.status == ForwardStatus::failed && to_string(result.forward_case) == info.found_by);
      CHECK(found);
      CHECK(parse_forward_fault(info.name) == info.fault);
    }
}

/// What becomes of a fault of the layout that an engine computes with.
struct LayoutFault {
  Fault fault;
  enum Effect { changes_output, leaves_output, refused } effect;
};

// Which check of `verify` owns each of them is shown in fault_test.
TEST_CASE("fault: the faults of a layout that touch live data change the output, the others do not") {
  using enum LayoutFault::Effect;
  for (const LayoutFault& planted :
       {LayoutFault{Fault::stride_order, changes_output}, LayoutFault{Fault::pack_index, changes_output},
        LayoutFault{Fault::zero_full_page, changes_output}, LayoutFault{Fault::null_block_used, changes_output},
        LayoutFault{Fault::padding_reused, leaves_output}, LayoutFault{Fault::misaligned_state, leaves_output},
        // Writer and reader share the order, so no output tells one from another; physical-order does.
        LayoutFault{Fault::order_exchanged, leaves_output}, LayoutFault{Fault::pack_reversed, leaves_output},
        LayoutFault{Fault::kv_exchanged, leaves_output}, LayoutFault{Fault::states_exchanged, leaves_output},
        LayoutFault{Fault::padded_split, refused}, LayoutFault{Fault::narrow_offsets, refused},
        LayoutFault{Fault::odd_stride, refused}, LayoutFault{Fault::lost_state, refused}}) {
    CAPTURE(to_string(planted.fault));
    ForwardSpec spec = unscaled();
    spec.layout_fault = planted.fault;
    const ModelSpec model = small_hybrid(GdnSpec{2, 4, 15, 16, 4}, DType::bf16);
    if (planted.effect == refused) {
      CHECK_THROWS_AS(run(model, 5, spec), InputError);
      continue;
    }
    CHECK((run(model, 5, spec).first_failure() != nullptr) == (planted.effect == changes_output));
  }
}

TEST_CASE("edge: a cache without a float type, and a scale below one, are refused") {
  EngineSpec engine;
  engine.kv_dtype = DType::int8;
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16);
  CHECK_THROWS_WITH_AS(verify_forward(model, engine, {}),
                       "engine.kv_dtype: a forward pass needs a float type, int8 has no scale; verify without --forward "
                       "checks its layout",
                       SpecError);
  ForwardSpec spec;
  spec.scale = 0;
  CHECK_THROWS_WITH_AS(verify_forward(model, {}, spec), "--scale: is 0, but a scale divides; take 1 or more", SpecError);
}

}  // namespace
}  // namespace hybridkv
