#include "verify/layout/address_audit.h"

#include <doctest/doctest.h>

#include "layout/stretch.h"
#include "planner/views.h"
#include "tests/planner/models.h"
#include "tests/verify/plans.h"
#include "verify/layout/page_gaps.h"
#include "verify/verify.h"

using namespace hybridkv;

namespace {

/// 33,000 attention layers of 32 bytes a token, 60 to a page, and as many pages of states; more than 16 bits count.
CachePlan plan_of_many_views() {
  const ModelSpec model = testing::hybrid_model(
      "many", 33'600, AttentionSpec{.query_heads = 1, .kv_heads = 1, .head_size_k = 2, .head_size_v = 2},
      ShortConvSpec{.channels = 4, .conv_kernel = 3}, [](std::int64_t i) { return i % 560 != 0; });
  EngineSpec engine{.attention_pack_size = 60};
  engine.num_blocks = 64;
  engine.memory_bytes = 1;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {16}});
}

}  // namespace

TEST_CASE("edge: more views than 16 bits count are all told apart, and named right") {
  const CachePlan plan = plan_of_many_views();
  std::vector<BoundView> views = bind_views(plan);
  REQUIRE(views.size() > 33'000);
  const CheckResult right = audit_by_enumeration(plan, views);
  CHECK_MESSAGE(right.status == CheckStatus::passed, right.message);
  CHECK(right.count > std::int64_t(33'000) * 3 * 16 * 4);

  // Nothing but its padding is nobody's, and what one of them leaves when it goes.
  std::size_t last = views.size() - 1;
  while (!plan.specs[views[last].view.spec].attention) --last;
  CHECK(last > 32'768);
  const auto gap_bytes = [&] {
    std::int64_t bytes = 0;
    for (const PageGap& gap : page_gaps(plan, views, views[last].group, views[last].view.lane, 0)) bytes += gap.bytes;
    return bytes;
  };
  const std::int64_t padding = gap_bytes();
  views[last].foreign = true;
  CHECK(gap_bytes() == padding + views[last].page_bytes(0).num_elements());
  views[last].foreign = false;

  views[last].address = views[last - 1].address;
  const CheckResult wrong = audit_by_enumeration(plan, views);
  CHECK(wrong.status == CheckStatus::failed);
  CHECK(wrong.message.find(views[last].name(plan)) == 0);
  CHECK(wrong.message.find("already belongs to " + views[last - 1].name(plan)) != std::string::npos);
}

TEST_CASE("fault: a planner that forgets to round an odd convolution up is found by its alignment") {
  // 3 x 39 elements of bf16 are 234 bytes: the recurrent state in fp32 begins at 236.
  const ModelSpec model = testing::hybrid_model(
      "odd", 4, AttentionSpec{.query_heads = 2, .kv_heads = 1, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{1, 1, 13, 13, 4}, [](std::int64_t i) { return i % 2 == 1; });
  EngineSpec engine;
  engine.ssm_dtype = DType::fp32;
  engine.memory_bytes = 1 << 20;
  CachePlan plan = make_plan(model, engine, LimitsSpec{.max_model_lens = {64}});
  CHECK(verify_plan(plan, {}).passed());
  for (SpecPlan& spec : plan.specs) {
    if (!spec.state) continue;
    REQUIRE(spec.state->tensors[0].bytes() == 234);
    REQUIRE(spec.state->tensors[1].byte_offset == 236);
    spec.state->tensors[1].byte_offset = 234;
  }
  plan.views = make_views(plan);
  const CheckResult offset = audit_alignment(plan, bind_views(plan));
  CHECK(offset.status == CheckStatus::failed);
  CHECK(offset.message.find("byte 234 does not start on a multiple of its 4-byte elements") != std::string::npos);
}

TEST_CASE("fault: pages that are no whole number of elements are found by the alignment of their stride") {
  CachePlan plan = testing::small_plan(1);
  for (ViewPlan& view : plan.views)
    view.bytes = stretch(view.bytes, "block", view.bytes.stride("block") + 2);
  const CheckResult stride = audit_alignment(plan, bind_views(plan));
  CHECK(stride.status == CheckStatus::failed);
  CHECK(stride.message.find("neighbours along block lie") != std::string::npos);
}

TEST_CASE("edge: block 0 is one like all others where the pools keep none back, and is handed out to nobody else") {
  CachePlan plan = testing::small_plan(1);
  BlockAssignment blocks = assign_blocks(plan, default_requests(plan), 1);
  blocks.ids.front().front().front() = 0;
  const CheckResult reserved = audit_block_tables(plan, blocks);
  CHECK(reserved.status == CheckStatus::failed);
  CHECK(reserved.message.find("block 0, byte 0, is the null block and was handed out") != std::string::npos);
  for (ArenaPlan& arena : plan.arenas) arena.has_null_id = false;
  const CheckResult free = audit_block_tables(plan, blocks);
  CHECK_MESSAGE(free.status == CheckStatus::passed, free.message);
}

TEST_CASE("fault: each thing that an address can get wrong has a sentence of its own") {
  const CachePlan plan = testing::small_plan(3);
  const std::vector<BoundView> right = bind_views(plan);
  const auto says = [](const CheckResult& result, std::string_view text) {
    CAPTURE(result.message);
    CHECK(result.status == CheckStatus::failed);
    CHECK(result.message.find(text) != std::string::npos);
  };
  const auto moved = [](BoundView view, std::int64_t bytes) {
    view.address = Layout(view.address.axes(), view.address.offset() + bytes);
    return view;
  };
  // The view alone, so that nothing but its own page, steps and pool can be wrong.
  const std::vector<BoundView> shifted{moved(right.front(), plan.page_bytes())};
  says(audit_by_intervals(plan, shifted), "the view's part of block 0 ends at byte");
  says(audit_by_enumeration(plan, shifted), "lies outside its page");
  CachePlan cut = plan;
  for (PoolPlan& pool : cut.pools) pool.bytes -= plan.page_bytes();
  says(audit_by_intervals(cut, std::vector{right.front()}), "the view ends outside its pool");
  std::vector<Axis> axes(right.front().address.axes().begin(), right.front().address.axes().end());
  axes[right.front().address.find("block")].stride /= 2;
  std::vector<BoundView> halved{right.front()};
  halved.front().address = Layout(axes, right.front().address.offset());
  says(audit_by_intervals(plan, halved), "bytes a page instead of");
  // Two views of one page in one place, and a view that meets itself.
  std::vector<BoundView> twice{right.front(), right.front()};
  twice.back().view.layer += 1;
  says(audit_by_intervals(plan, twice), "also belongs to");
  says(audit_by_enumeration(plan, twice), "already belongs to");
  const BlockAssignment blocks = assign_blocks(plan, default_requests(plan), 1);
  says(audit_by_samples(plan, twice, blocks, 1), "also belongs to");
  axes = {right.front().address.axes().begin(), right.front().address.axes().end()};
  axes.back().stride = 0;
  std::vector<BoundView> folded{right.front()};
  folded.front().address = Layout(axes, right.front().address.offset());
  says(audit_by_intervals(plan, folded), "two elements of the view share an address");
  // Offsets that wrap are told from addresses that leave their page.
  const CachePlan large = testing::small_plan(3, CacheMode::align, DType::bf16, std::int64_t(24) << 30);
  std::vector<BoundView> wrapping{bind_views(large).front()};
  wrapping.front().narrow_offsets = true;
  const BlockAssignment far = assign_blocks(large, default_requests(large), 1);
  says(audit_by_samples(large, wrapping, far, 1), "exact arithmetic gives");
  says(audit_by_samples(plan, shifted, blocks, 1), "lies outside its page");
}
