#include "verify/forward/forward.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "tests/verify/forward/forward_models.h"

namespace hybridkv {
namespace {

using testing::small_families;
using testing::small_hybrid;
using testing::window;

ForwardSpec packed_spec() {
  ForwardSpec spec;
  spec.scale = 1;
  return spec;
}

ForwardReport run_n(const ModelSpec& model, std::int64_t pack, const ForwardSpec& spec = packed_spec()) {
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
      ForwardSpec spec = packed_spec();
      if (pack != 1 && pack != 3) spec.modes = {CacheMode::align};
      const ForwardReport report = run_n(small_hybrid(family, DType::fp32), pack, spec);
      check_passed(report);
      for (const ForwardResult& result : report.results) CHECK(result.tolerance < 1.6e-5);
    }
}

TEST_CASE("law: the same through pages, groups and places of states that no engine has") {
  for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33})
    for (const RecurrentSpec& family : small_families()) {
      CAPTURE(rules->name);
      CAPTURE(family_name(family));
      EngineSpec engine;
      engine.rules = rules;
      const ModelSpec model = small_hybrid(family, DType::fp32);
      engine.what_if.block_formula = "2 * A * ceil(M / (A * N * a1))";
      engine.what_if.page_bytes = 1 << 17;
      engine.what_if.states = {.first_byte = 96, .alignment = 64, .recurrent_first = true};
      for (std::size_t i = 0; i < model.layers.size(); ++i)
        engine.what_if.groups.push_back({static_cast<std::int64_t>(i)});
      ForwardSpec spec = packed_spec();
      spec.modes = {CacheMode::align};
      check_passed(verify_forward(model, engine, spec));
    }
}

TEST_CASE("law: the same in bf16, fp16 and with fp8 K and V") {
  for (const RecurrentSpec& family : small_families()) {
    CAPTURE(family_name(family));
    ForwardSpec spec = packed_spec();
    spec.modes = {CacheMode::align};
    check_passed(run_n(small_hybrid(family, DType::bf16), 3, spec));
    check_passed(run_n(small_hybrid(family, DType::fp16), 2, spec));
    EngineSpec engine;
    engine.kv_dtype = DType::fp8_e4m3;
    check_passed(verify_forward(small_hybrid(family, DType::bf16), engine, spec));
  }
}

TEST_CASE("law: every kind of attention, both kinds in one layer, several specs, every order of a page") {
  const RecurrentSpec recurrent = GdnSpec{2, 4, 16, 16, 4};
  check_passed(run_n(small_hybrid(recurrent, DType::fp32, {AttentionKind::mla, 4, 1, 24, 16, 0}), 2));
  check_passed(run_n(small_hybrid(recurrent, DType::fp32, window), 2));
  check_passed(run_n(small_hybrid(recurrent, DType::fp32, {AttentionKind::chunked_local, 4, 2, 16, 16, 24}), 3));
  ModelSpec both = small_hybrid(recurrent, DType::fp32);
  for (LayerSpec& layer : both.layers) layer = {AttentionSpec{AttentionKind::full, 4, 2, 16, 16, 0}, recurrent};
  check_passed(run_n(both, 3));
  ModelSpec several = small_hybrid(recurrent, DType::fp32);
  several.layers[3].attention = several.layers[7].attention = window;
  several.layers[4].recurrent = ShortConvSpec{64, 3};
  check_passed(run_n(several, 1));
  for (const PhysicalOrder order : {PhysicalOrder::hnd, PhysicalOrder::head_major}) {
    EngineSpec engine;
    engine.physical_order = order;
    engine.attention_pack_size = 5;
    check_passed(verify_forward(small_hybrid(recurrent, DType::fp32), engine, packed_spec()));
  }
}

TEST_CASE("regression: attention of unequal heads, whose groups have blocks of their own, beside windows and states") {
  const RecurrentSpec recurrent = GdnSpec{2, 4, 16, 16, 4};
  for (const AttentionKind kind : {AttentionKind::full, AttentionKind::sliding_window, AttentionKind::chunked_local})
    for (const std::int64_t heads : {1, 4, 6}) {  // of 2 in the others: blocks of twice, half and a third of theirs
      CAPTURE(to_string(kind));
      CAPTURE(heads);
      ModelSpec hybrid = small_hybrid(recurrent, DType::fp32);
      const AttentionSpec other{kind, 12, heads, 16, 16, kind == AttentionKind::full ? 0 : 40};
      hybrid.layers[3].attention = hybrid.layers[7].attention = other;
      ModelSpec alone = hybrid;
      for (LayerSpec& layer : alone.layers) layer.recurrent.reset();
      ForwardSpec spec = packed_spec();
      if (heads != 4) spec.modes = {CacheMode::align};
      for (const std::int64_t pack : {1, 2}) {
        check_passed(run_n(alone, pack, spec));
        const ForwardReport report = run_n(hybrid, pack, spec);
        check_passed(report);
        for (const ForwardResult& result : report.results)
          if (result.forward_case == ForwardCase::copy_on_write && result.mode == CacheMode::align)
            CHECK(result.status == ForwardStatus::passed);
      }
    }
}

TEST_CASE("edge: what takes place is counted, and a mode without prefixes says so") {
  const ForwardReport report = run_n(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32), 2);
  REQUIRE(report.results.size() == 3 * forward_cases_of(rules_of_vllm_2026_06).size());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    const bool needs_prefix = result.forward_case <= ForwardCase::copy_on_write;
    if (result.mode == CacheMode::none && needs_prefix) {
      CHECK(result.status == ForwardStatus::does_not_apply);
      CHECK(result.message == "mode none keeps no states, so no prefix is ever found again");
      continue;
    }
    if (result.forward_case == ForwardCase::window) {
      CHECK(result.status == ForwardStatus::does_not_apply);
      CHECK(result.message == "no layer has a window or chunk");
      continue;
    }
    CHECK(result.tokens > 0);
    CHECK((result.hit_tokens > 0) == needs_prefix);
    CHECK((result.preemptions > 0) == (result.forward_case == ForwardCase::preemption));
    CHECK((result.rejected > 0) == (result.forward_case == ForwardCase::drafts));
    if (result.forward_case == ForwardCase::recycling) CHECK(result.reused_blocks > 20);
  }
}

TEST_CASE("golden: every fault of an engine has a name and a case that is there for it") {
  for (const ForwardFaultInfo& info : all_forward_faults()) {
    CAPTURE(info.name);
    CHECK(parse_forward_fault(info.name) == info.fault);
    CHECK(&info_of(info.fault) == &info);
    CHECK(std::any_of(all_forward_cases().begin(), all_forward_cases().end(),
                      [&](ForwardCase forward_case) { return to_string(forward_case) == info.found_by; }));
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
    ForwardSpec spec = packed_spec();
    spec.layout_fault = planted.fault;
    const ModelSpec model = small_hybrid(GdnSpec{2, 4, 15, 16, 4}, DType::bf16);
    if (planted.effect == refused) {
      CHECK_THROWS_AS(run_n(model, 5, spec), InputError);
      continue;
    }
    const ForwardReport report = run_n(model, 5, spec);
    CHECK((report.weakest_find() != nullptr) == (planted.effect == changes_output));
    CHECK(!report.passed());
    for (const ForwardResult& result : report.results) CHECK(result.status != ForwardStatus::passed);
  }
}

TEST_CASE("regression: heads that share others in unequal parts are refused at every scale, as plans refuse them") {
  for (const std::int64_t scale : {1, 16})
    for (const RecurrentSpec& layer :
         {RecurrentSpec(GdnSpec{4, 2, 16, 16, 4}), RecurrentSpec(Mamba2Spec{2, 8, 16, 4, 4, 16})}) {
      ForwardSpec spec;
      spec.scale = scale;
      CHECK_THROWS_WITH_AS(run_n(small_hybrid(layer, DType::bf16), 1, spec), doctest::Contains("do not divide over 4"),
                           SpecError);
    }
}

TEST_CASE("edge: windows of several lengths in one model, and one that no token sees beyond itself") {
  ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, window);
  model.layers[3].attention->window_tokens = 1;
  model.layers[5].attention->window_tokens = 70;
  model.layers[7].attention = AttentionSpec{AttentionKind::chunked_local, 4, 2, 16, 16, 40};
  check_passed(run_n(model, 1));
  for (LayerSpec& layer : model.layers) layer = {AttentionSpec{AttentionKind::sliding_window, 4, 2, 16, 16, 33}, {}};
  const ForwardReport report = run_n(model, 2);
  check_passed(report);
  for (const ForwardResult& result : report.results)
    if (result.forward_case == ForwardCase::window) CHECK(result.reused_blocks > 0);
}

TEST_CASE("edge: a window's pools have room for a short request in the step that gives a block back, and not before") {
  ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, window, 4);
  for (LayerSpec& layer : model.layers) layer = {AttentionSpec{AttentionKind::sliding_window, 4, 2, 16, 16, 32}, {}};
  ForwardSpec spec = packed_spec();
  spec.modes = {CacheMode::none};
  spec.cases = {ForwardCase::window};
  const ForwardReport report = run_n(model, 1, spec);
  check_passed(report);
  REQUIRE(report.block_size_tokens == 16);
  // Token 47 is the first that sees nothing of block 0; token 48 takes a block in its place. Each of two runs has a
  // long request, and beside it a short one in that step alone.
  CHECK(report.results.front().requests == 2 * 2);
}

TEST_CASE("edge: a window longer than a forward pass runs is said, not run") {
  ForwardSpec spec = packed_spec();
  spec.modes = {CacheMode::align};
  spec.cases = {ForwardCase::window};
  const AttentionSpec window{AttentionKind::sliding_window, 4, 2, 16, 16, 5000};
  const ForwardReport report = run_n(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16, window), 1, spec);
  CHECK(!report.passed());
  REQUIRE(report.results.size() == 1);
  CHECK(report.results[0].status == ForwardStatus::does_not_apply);
  CHECK(report.results[0].message.find("more than the 2048 that a forward pass runs") != std::string::npos);
}

TEST_CASE("edge: a cache whose values nothing computes is neither passed nor failed, in any case") {
  EngineSpec turboquant, unsigned_bytes;
  turboquant.kv_format = KvFormat::turboquant_4bit_nc;
  unsigned_bytes.kv_dtype = DType::uint8;
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16);
  for (const EngineSpec& engine : {turboquant, unsigned_bytes}) {
    const ForwardReport report = verify_forward(model, engine, {});
    CHECK(!report.passed());
    CHECK(!report.applies());
    CHECK(report.first_failure() == nullptr);
    CHECK(report.results.size() == 3 * forward_cases_of(rules_of_vllm_2026_06).size());
    CHECK(report.results.front().message == (engine.kv_format ? "values of turboquant_4bit_nc are not computed here"
                                                              : "values of a network have a sign, and uint8 has none"));
  }
}

TEST_CASE("edge: a format that the model's own heads do not fit, and a scale below one, are refused") {
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16);
  EngineSpec engine;
  engine.kv_format = KvFormat::nvfp4;
  const AttentionSpec heads_of_24{AttentionKind::full, 4, 2, 24, 24, 0};
  CHECK_THROWS_WITH_AS(verify_forward(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16, heads_of_24), engine, {}),
                       doctest::Contains("nvfp4 has a scale for every 16 channels, but heads have 24 and 24"),
                       SpecError);
  ForwardSpec spec;
  spec.scale = 0;
  CHECK_THROWS_WITH_AS(verify_forward(model, {}, spec), "--scale: is 0, but a scale divides; take 1 or more",
                       SpecError);
}

TEST_CASE("law: a split of the memory between states and tokens is refused where plans refuse it, else no matter") {
  const ModelSpec model = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32);
  for (const Strategy strategy : {Strategy::packed_attention, Strategy::small_pages, Strategy::two_level,
                                  Strategy::dual_pool, Strategy::compact_slots}) {
    CAPTURE(to_string(strategy));
    EngineSpec by_requests{.strategy = strategy, .cache_mode = CacheMode::align};
    by_requests.state_requests = 1'000'000'000;
    EngineSpec by_ratio{.strategy = strategy, .cache_mode = CacheMode::align};
    by_ratio.state_memory_ratio = 0.5;
    for (const EngineSpec& engine : {by_requests, by_ratio}) {
      if (splits_memory(strategy))
        check_passed(verify_forward(model, engine, packed_spec()));
      else
        CHECK_THROWS_AS(verify_forward(model, engine, packed_spec()), SpecError);
    }
  }
}

}  // namespace
}  // namespace hybridkv
