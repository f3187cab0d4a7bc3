// The rules of the physical order against what engines published, and the check that compares a plan with them.
#include "verify/layout/physical_order.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "test_paths.h"
#include "tests/attention/published_strides.h"
#include "tests/verify/plans.h"
#include "verify/fault/plant.h"
#include "verify/layout/physical_order_check.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::small_plan;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Position of an element in the published logical shape of its form.
Numbers published_index(const KvViewSpec& spec, const KvElement& element) {
  const std::int64_t b = spec.kernel_block_size_tokens;
  const std::int64_t kernel_block = element.block * (spec.block_size_tokens / b) + element.token / b;
  const std::int64_t token = element.token % b, kv = element.is_value;
  const std::int64_t in_row = element.channel + (element.is_value ? spec.head_size_k : 0);
  switch (spec.form) {
    case BackendForm::paged:
    case BackendForm::flex: return {kernel_block, kv, token, element.head, element.channel};
    case BackendForm::kv_first:
    case BackendForm::kv_first_unordered: return {kv, kernel_block, token, element.head, element.channel};
    case BackendForm::cpu: return {kernel_block, element.head, token, in_row};
    case BackendForm::diff_kv: return {kernel_block, token, element.head, in_row};
    case BackendForm::mla: return {kernel_block, token, element.channel};
    case BackendForm::slots: break;  // of an allocation of all layers, see one_allocation_test.cc
  }
  return {};
}

std::vector<KvElement> corners(const KvViewSpec& spec) {
  std::vector<KvElement> elements;
  for (const std::int64_t block : {std::int64_t(0), std::int64_t(1), spec.num_blocks - 1})
    for (const std::int64_t token :
         {std::int64_t(0), std::int64_t(1), spec.kernel_block_size_tokens - 1, spec.block_size_tokens - 1})
      for (const std::int64_t head : {std::int64_t(0), spec.kv_heads - 1})
        for (const bool is_value : {false, true}) {
          if (is_value && spec.form == BackendForm::mla) continue;
          for (const std::int64_t channel :
               {std::int64_t(0), std::int64_t(1), (is_value ? spec.head_size_v : spec.head_size_k) - 1})
            elements.push_back({block, token, head, channel, is_value});
        }
  return elements;
}

struct FormAndOrder {
  BackendForm form;
  PhysicalOrder order;
};

/// Every form in every order that planner and rule know.
std::vector<FormAndOrder> forms_and_orders() {
  std::vector<FormAndOrder> all;
  for (const BackendForm form : {BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                                 BackendForm::kv_first, BackendForm::kv_first_unordered})
    for (const PhysicalOrder order : {PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major})
      if (order != PhysicalOrder::head_major || form == BackendForm::paged || form == BackendForm::kv_first)
        all.push_back({form, order});
  return all;
}

/// Six attention layers of two heads among six gdn layers; K and V of unequal size where the form allows it.
CachePlan plan_of(const FormAndOrder& how, std::int64_t pack_size, std::int64_t page_alignment = 1,
                  bool split = false) {
  const bool unequal = how.form == BackendForm::cpu || how.form == BackendForm::diff_kv;
  const ModelSpec model = testing::hybrid_model(
      "orders", 12,
      AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = unequal ? 24 : 16},
      GdnSpec{2, 4, 15, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  EngineSpec engine{.cache_mode = CacheMode::align, .attention_pack_size = pack_size, .backend_form = how.form,
                    .physical_order = how.order};
  engine.ssm_dtype = DType::fp32;
  engine.page_alignment_bytes = page_alignment;
  if (split) {
    engine.block_size_tokens = 48;
    engine.kernel_block_sizes = {16};
  }
  engine.memory_bytes = std::int64_t(32) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {256}});
}

CheckResult check(const CachePlan& plan) { return check_physical_order(plan, bind_views(plan), 1); }

bool is_caught(const CachePlan& plan, Fault fault) {
  std::vector<BoundView> views = bind_views(plan);
  BlockAssignment unused;
  plant_fault(fault, plan, views, unused);
  return check_physical_order(plan, views, 1).status == CheckStatus::failed;
}

}  // namespace

TEST_CASE("golden: the rule gives the addresses of all 340 published packed views") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/strides.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    CAPTURE(line);
    const auto row = nlohmann::json::parse(line);
    const KvViewSpec spec = testing::spec_of_row(row);
    const auto strides = row["strides"].get<Numbers>(), offsets = row["storage_offsets"].get<Numbers>();
    std::int64_t wrong = 0;
    for (std::int64_t layer = 0; layer < spec.pack_size; ++layer)
      for (const KvElement& element : corners(spec)) {
        const Numbers index = published_index(spec, element);
        std::int64_t published = offsets[layer];
        for (std::size_t axis = 0; axis < index.size(); ++axis) published += index[axis] * strides[axis];
        wrong += kv_byte_by_rule(spec, layer, element) != published * element_bytes(spec.dtype);
      }
    CHECK(wrong == 0);
  }
  CHECK(rows == 340);
}

TEST_CASE("golden: the convolution at byte 0 of its page, the recurrent tensor on the next multiple of its element") {
  const StateTensor conv{"conv", DType::bf16, Layout({{"step", 3, 0}, {"channel", 5, 0}}), 0};
  const StateTensor ssm{"ssm", DType::fp32, Layout({{"head", 2, 0}, {"channel", 4, 0}}), 0};
  for (const StateSpec& state : {StateSpec{{conv, ssm}}, StateSpec{{ssm, conv}}}) {
    CHECK(state_byte_by_rule(state, "conv", Numbers{1, 2}) == (1 * 5 + 2) * 2);
    CHECK(state_byte_by_rule(state, "ssm", Numbers{0, 0}) == 32);  // 30 bytes, rounded up to 4
    CHECK(state_byte_by_rule(state, "ssm", Numbers{1, 3}) == 32 + (1 * 4 + 3) * 4);
  }
}

TEST_CASE("law: every form in every order, packed, padded and split, lies where the rule puts it") {
  for (const FormAndOrder& how : forms_and_orders())
    for (const std::int64_t pack : {1, 3, 4}) {
      CAPTURE(to_string(how.form));
      CAPTURE(to_string(how.order));
      CAPTURE(pack);
      const CachePlan padded = plan_of(how, pack, 2688), split = plan_of(how, pack, 1, true);
      CHECK(padded.page_bytes() > padded.specs[1].unpadded_page_bytes);
      CHECK(split.specs[1].block_size_tokens > split.specs[1].kernel_block_size_tokens);
      for (const CachePlan& plan : {plan_of(how, pack), padded, split}) {
        const CheckResult result = check(plan);
        CHECK_MESSAGE(result.status == CheckStatus::passed, result.message);
        CHECK(result.count > 10'000);
      }
    }
}

TEST_CASE("fault: orders, packs and halves exchanged are seen in every form and order that has them") {
  for (const FormAndOrder& how : forms_and_orders()) {
    CAPTURE(to_string(how.form));
    CAPTURE(to_string(how.order));
    const CachePlan plan = plan_of(how, 3);
    for (const Fault fault :
         {Fault::order_exchanged, Fault::pack_reversed, Fault::kv_exchanged, Fault::states_exchanged})
      CHECK_MESSAGE(is_caught(plan, fault), to_string(fault));
  }
}

TEST_CASE("fault: K and V exchanged leave every other check satisfied, in every form") {
  for (const FormAndOrder& how : forms_and_orders()) {
    CAPTURE(to_string(how.form));
    CAPTURE(to_string(how.order));
    VerifySpec spec;
    spec.fault = Fault::kv_exchanged;
    for (const CheckResult& result : verify_plan(plan_of(how, 2), spec).checks)
      CHECK_MESSAGE((result.status == CheckStatus::failed) == (result.name == "physical-order"), result.name);
  }
}

TEST_CASE("fault: a view of the plan itself that strays from the rule is named, though the engine would share it") {
  const CachePlan right = small_plan(3);
  REQUIRE(check(right).status == CheckStatus::passed);
  const auto fails = [](const CachePlan& plan, std::string_view text) {
    const CheckResult result = check(plan);
    CAPTURE(result.message);
    CHECK(result.status == CheckStatus::failed);
    CHECK(result.message.find(text) != std::string::npos);
  };
  // Two layers of a pack in each other's place.
  CachePlan plan = right;
  std::vector<ViewPlan*> attention;
  std::vector<ViewPlan*> states;
  for (ViewPlan& view : plan.views) (view.tensor == "kv" ? attention : states).push_back(&view);
  REQUIRE(attention[0]->pool == attention[1]->pool);
  std::swap(attention[0]->bytes, attention[1]->bytes);
  fails(plan, "by the rule of its order it belongs at byte");
  // Tokens and heads of one layer: two heads of sixteen channels.
  plan = right;
  for (ViewPlan& view : plan.views) {
    if (view.tensor != "kv") continue;
    std::vector<Axis> axes(view.bytes.axes().begin(), view.bytes.axes().end());
    const std::int64_t row = 16 * element_bytes(view.dtype);
    axes[view.bytes.find("token")].stride = row;
    axes[view.bytes.find("head")].stride = row * view.bytes.extent("token");
    view.bytes = Layout(axes, view.bytes.offset());
    break;
  }
  fails(plan, "of token");
  // A state whose offset forgets half of its bytes.
  plan = right;
  for (ViewPlan& view : plan.views)
    if (view.tensor == "ssm") view.bytes = Layout(view.bytes.axes(), view.bytes.offset() / 2);
  fails(plan, "in the plan's view");
  // A layer without a view.
  plan = right;
  plan.views.pop_back();
  fails(plan, "has no view");
  // Two pages of a group in each other's pool: every address is right, but another layer's.
  plan = small_plan(1);
  GroupPlan& group = plan.groups.front();
  REQUIRE(group.pages.size() > 1);
  std::swap(group.pages[0], group.pages[1]);
  for (ViewPlan& view : plan.views)
    if (view.spec == group.spec && (view.layer == group.pages[0][0] || view.layer == group.pages[1][0]))
      view.pool = view.lane.value = view.layer == group.pages[0][0] ? 0 : 1;
  fails(plan, "by the rule of groups it belongs to pool");
}
