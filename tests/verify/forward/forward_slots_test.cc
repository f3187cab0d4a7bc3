// Forward passes through the cells, rows and host checkpoints of llama.cpp's slots.
#include "verify/forward/forward_slots.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "planner/plan.h"
#include "planner/row_settings.h"
#include "tests/verify/forward/forward_checks.h"
#include "verify/forward/forward_slot_case.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec llama() { return engine_of_rules(rules_of_llama_cpp); }

ForwardReport run_slots(const ModelSpec& model, const EngineSpec& engine = llama(),
                        std::optional<ForwardFault> fault = {}, std::vector<ForwardCase> cases = {}) {
  return unscaled_report(model, engine, fault, std::move(cases));
}

bool restores(ForwardCase forward_case) {
  return forward_case == ForwardCase::resume || forward_case == ForwardCase::branch ||
         forward_case == ForwardCase::chunks || forward_case == ForwardCase::one_past;
}

/// Needs something that mode none does not keep.
bool needs_host(ForwardCase forward_case) {
  return restores(forward_case) || forward_case == ForwardCase::saved_prompts;
}

/// Every case passed in both modes; without checkpoints those that restore one have nothing to show, in mode none none
/// that saves prompts either.
void check_slots_passed(const ForwardReport& report, bool keeps_checkpoints = true) {
  CHECK(report.passed());
  CHECK(report.results.size() == 2 * forward_cases_of(rules_of_llama_cpp).size());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    CAPTURE(to_string(result.mode));
    const bool keeps = result.mode == CacheMode::align;
    const bool applies = restores(result.forward_case) ? keeps_checkpoints && keeps
                                                       : keeps || !needs_host(result.forward_case);
    CHECK_MESSAGE(result.status == (applies ? ForwardStatus::passed : ForwardStatus::does_not_apply), result.message);
    if (!applies)
      CHECK(result.message == (restores(result.forward_case) ? "no checkpoint is made, so none is restored"
                                                             : "no prompt is saved on the host"));
    CHECK((result.tokens > 0) == applies);
    CHECK(result.tolerance < 0.1);
  }
}

/// A plan as the cases run it, with all that a run needs.
struct Bench {
  ModelSpec model = four_layers();
  CachePlan plan;
  std::shared_ptr<const ForwardNetwork> network;
  ForwardReferences references;
  std::vector<BoundView> views;
  std::vector<AttentionBackend> backends{AttentionBackend::paged};
  ForwardSetting setting;

  explicit Bench(std::int64_t drafts = 0, std::int64_t cache_ram = 0)
      : plan(plan_with(model, drafts, cache_ram)),
        network(std::make_shared<const ForwardNetwork>(make_network(model, plan, 16, 1))),
        references(network),
        views(bind_views(plan)),
        setting{plan, *network, references, views, backends} {
    setting.slots = slot_case_settings(plan);
  }

  static CachePlan plan_with(const ModelSpec& model, std::int64_t drafts, std::int64_t cache_ram) {
    EngineSpec engine = llama();
    engine.max_running_requests = most_forward_slots;
    engine.own.set(row_key::kv_unified, true);
    engine.own.set(row_key::cache_ram, cache_ram);
    engine.speculative_tokens = drafts;
    engine.memory_bytes = slot_case_memory_bytes(make_plan(model, engine, {.max_model_lens = {1}}));
    return make_plan(model, engine, {.max_model_lens = {1}});
  }

  ForwardResult run(ForwardCase forward_case) { return run_forward_case(forward_case, setting); }
};

}  // namespace

TEST_CASE("law: every family computes through slots, restored and taken back, what it computes without") {
  for (const RecurrentSpec& family : small_families()) {
    CAPTURE(family_name(family));
    check_slots_passed(run_slots(four_layers(DType::fp32, family)));
  }
}

TEST_CASE("law: slots with narrow states, bf16 K and V, a latent, and attention of several kinds of heads") {
  EngineSpec narrow = llama(), bf16 = llama(), blocks = llama();
  narrow.ssm_dtype = narrow.conv_dtype = DType::bf16;
  bf16.kv_dtype = DType::bf16;
  blocks.own.set(row_key::cache_type_k, CellType::f32);
  check_slots_passed(run_slots(four_layers(DType::bf16), narrow));
  check_slots_passed(run_slots(four_layers(DType::bf16), bf16));
  for (const ForwardResult& result : run_slots(four_layers(DType::bf16, GdnSpec{2, 4, 16, 16, 4}), blocks).results)
    CHECK(result.message == "values of cells in blocks, or of two types, are not computed here");
  const AttentionSpec mla{AttentionKind::mla, 4, 1, 24, 16, 0};
  check_slots_passed(run_slots(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, mla, 4)));
  ModelSpec several = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, {AttentionKind::full, 4, 2, 16, 16, 0}, 6);
  several.layers[3].attention->kv_heads = 4;
  several.layers[4].recurrent = ShortConvSpec{64, 3};
  check_slots_passed(run_slots(several));
}

TEST_CASE("law: a plan of the cases has their rows and cells, and an engine without checkpoints shows the rest") {
  const Bench bench(3);
  CHECK(bench.plan.arenas[0].num_ids == most_forward_cells);
  CHECK(bench.plan.arenas[1].num_ids == most_forward_slots * 4);
  EngineSpec engine = llama();
  engine.own.set(row_key::ctx_checkpoints, 0);
  check_slots_passed(run_slots(four_layers(), engine), false);
  // Whatever else is set of the server, the cases run.
  EngineSpec odd = llama();
  odd.own.set(row_key::cache_ram, 1);
  odd.own.set(row_key::cache_idle_slots, false);
  odd.own.set(row_key::slot_prompt_similarity_percent, 100);
  odd.own.set(row_key::checkpoint_min_step, 0);
  odd.own.set(row_key::ctx_checkpoints, 1);
  check_slots_passed(run_slots(four_layers(), odd));
  const ForwardReport report = run_slots(four_layers());
  REQUIRE(report.slots.has_value());
  CHECK(report.slots->row_bytes == bench.plan.rows->bytes.row_bytes);
  CHECK(report.block_size_tokens == 1);
}

TEST_CASE("fault: every fault of a server with slots is found in every family, by the case that owns it") {
  check_every_fault(llama(), small_families(), 2, [](ForwardFault fault, const ForwardResult& result) {
    return !needs_host(owner_of(info_of(fault))) || result.mode == CacheMode::align;
  });
}

TEST_CASE("fault: what is planted into slots is found in no case by chance: it is wrong, or it has no place") {
  check_none_found_by_chance(llama(), true);
}

TEST_CASE("fault: a case whose event did not take place has failed, though every output is right") {
  const auto shows_nothing = [](Bench& bench, ForwardCase forward_case) {
    CAPTURE(to_string(forward_case));
    CHECK(bench.run(forward_case).status == ForwardStatus::passed);
    const SlotSettings right = *bench.setting.slots;
    // No prompt is like enough to a slot's content to go on there; no step ends before the last one.
    if (restores(forward_case))
      bench.setting.slots->step_tokens = 64;
    else
      bench.setting.slots->least_similarity = 1;
    const ForwardResult result = bench.run(forward_case);
    CHECK(result.status == ForwardStatus::failed);
    CHECK(result.message.starts_with("the case shows nothing: "));
    CHECK(result.times_allowed() < 1);
    bench.setting.slots = right;
  };
  Bench plain, drafting(3);
  for (const ForwardCase forward_case : {ForwardCase::chunks, ForwardCase::branch, ForwardCase::decode_state,
                                         ForwardCase::eviction, ForwardCase::recycling})
    shows_nothing(plain, forward_case);
  shows_nothing(drafting, ForwardCase::drafts);
}

TEST_CASE("fault: the server's own, a checkpoint one token past, is found in every family and by one case alone") {
  for (const ForwardResult& result :
       run_slots(four_layers(), llama(), ForwardFault::restored_stale_checkpoint).results) {
    CAPTURE(to_string(result.forward_case));
    const bool found = result.forward_case == ForwardCase::one_past && result.mode == CacheMode::align;
    CHECK((result.status == ForwardStatus::failed) == found);
    if (!found) CHECK(result.status == ForwardStatus::does_not_apply);
  }
}

TEST_CASE("edge: a saved prompt that its slot goes on from has the bytes of its cells, in other cells than it had") {
  const Bench bench(0, 8192);
  SlotSettings settings = *bench.setting.slots;
  settings.slots = 2;
  settings.cells = 64;
  ForwardResult result;
  SlotRun slots(bench.setting, settings, result);
  slots.run({{{1, 30}}, {101, 4}});
  slots.run({{{2, 20}}});
  // A copy of the prompt ends before the saved one does: its checkpoint is restored, what lies behind it goes.
  const SlotRecord copy = slots.run({{{1, 30}}, {102, 2}});
  slots.count();
  CHECK(result.message == "");
  CHECK(copy.loaded_tokens == 34);
  CHECK(copy.loaded_request == 0);
  CHECK(copy.hit_tokens == 26);
  CHECK(slots.num_loaded() == 1);
  CHECK(result.times_allowed() < 1);
}

TEST_CASE("fault: a plan that counts other bytes of a saved prompt than its cells have is found") {
  Bench bench(0, 8192);
  const std::int64_t right = bench.plan.rows->bytes.tokens.per_token;
  bench.plan.rows->bytes.tokens.per_token = right + 1;
  const ForwardResult result = bench.run(ForwardCase::saved_prompts);
  CHECK(result.status == ForwardStatus::failed);
  // The first one that is saved has a prompt of 40 tokens and generated three.
  CHECK(result.message == fmt::format("the case shows nothing: K and V of a saved prompt have {} bytes, the plan says "
                                      "{}", 43 * right, 43 * (right + 1)));
}

TEST_CASE("edge: what a slot is told has a run of its output where there is any") {
  CHECK(SlotPrompt{{{1, 5}}}.all().size() == 1);
  CHECK(SlotPrompt{{{1, 5}}, {101, 1}}.all().size() == 2);
}

TEST_CASE("edge: a foreign cell counts where it is that of a sequence's first token alone") {
  Bench bench;
  bench.setting.fault = ForwardFault::foreign_cell;
  SlotSettings settings = *bench.setting.slots;
  settings.slots = 2;
  ForwardResult result;
  SlotRun slots(bench.setting, settings, result);
  slots.run({{{1, 20}}});
  slots.run({{{2, 1}}});  // its only token is written over the first one of the other slot
  slots.run({{{1, 20}, {3, 4}}});
  slots.count();
  CHECK(result.times_allowed() > 1);
  CHECK(result.planted == 1);
}

TEST_CASE("edge: what is restored for a checkpoint of another sequence is one of another sequence, in another slot") {
  Bench bench;
  bench.setting.fault = ForwardFault::state_of_another_checkpoint;
  SlotSettings settings = *bench.setting.slots;
  settings.slots = 2;
  ForwardResult result;
  SlotRun slots(bench.setting, settings, result);
  slots.run({{{1, 30}}});
  slots.run({{{2, 30}}});
  CHECK(slots.run({{{1, 28}, {3, 5}}}).hit_tokens == 26);
  slots.count();
  CHECK(slots.num_restored() == 1);
  CHECK(result.planted == 1);
  CHECK(result.times_allowed() > 1);
}

TEST_CASE("edge: a checkpoint that the server has dropped is none before the one that is restored") {
  Bench bench;
  bench.setting.fault = ForwardFault::older_checkpoint;
  SlotSettings settings = *bench.setting.slots;
  settings.slots = 1;
  settings.checkpoints = 1;  // the one at 46, which goes for the one at 66
  ForwardResult result;
  SlotRun slots(bench.setting, settings, result);
  slots.run({{{1, 50}}});
  CHECK(slots.run({{{1, 50}, {2, 20}}}).hit_tokens == 50);
  CHECK(slots.run({{{1, 50}, {2, 18}, {3, 5}}}).hit_tokens == 66);
  slots.count();
  CHECK(slots.num_restored() == 1);
  CHECK(result.planted == 0);
  CHECK(result.times_allowed() < 1);
}

TEST_CASE("edge: a prompt or a decode that all cells do not hold, are said") {
  Bench plain;
  SlotSettings settings = *plain.setting.slots;
  settings.cells = 40;
  const auto message_of = [](const Bench& bench, const SlotSettings& server, std::vector<SlotPrompt> requests) {
    ForwardResult result;
    SlotRun slots(bench.setting, server, result);
    for (const SlotPrompt& request : requests) slots.run(request);
    slots.count();
    return result.message;
  };
  CHECK(message_of(plain, settings, {{{{1, 37}}, {101, 2}}}) == "");
  CHECK(message_of(plain, settings, {{{{1, 40}}}}) == "the case shows nothing: request 0 did not fit");
  CHECK(message_of(plain, settings, {{{{1, 37}}, {101, 3}}}) ==
        "the case shows nothing: what request 0 generates did not fit");
  // What drafts are taken back by takes back no prompt.
  Bench drafting(3);
  settings = *drafting.setting.slots;
  settings.slots = 1;
  CHECK(message_of(drafting, settings, {{{{1, 30}}}, {{{1, 29}, {2, 1}}}, {{{1, 25}, {3, 9}}}}) == "");
  CHECK(message_of(drafting, settings, {{{{1, 4}}, {101, 2}}, {{{1, 4}, {101, 1}, {2, 5}}}}) == "");
}

TEST_CASE("edge: what a slot drafts is written over no state of the slot beside it") {
  const Bench bench(3);
  SlotSettings settings = *bench.setting.slots;
  settings.slots = 2;
  ForwardResult result;
  SlotRun slots(bench.setting, settings, result);
  const SlotRecord first = slots.run({{{1, 30}}, {101, 7}});
  const SlotRecord second = slots.run({{{2, 30}}, {102, 7}});
  CHECK(first.slot != second.slot);
  // Each goes on where it ended, after the other one has drafted.
  CHECK(slots.run({{{1, 30}, {101, 7}, {3, 5}}, {103, 7}}).hit_tokens == 37);
  CHECK(slots.run({{{2, 30}, {102, 7}, {4, 5}}, {104, 7}}).hit_tokens == 37);
  CHECK(slots.run({{{1, 30}, {101, 7}, {3, 5}, {103, 7}, {5, 5}}}).hit_tokens == 49);
  slots.count();
  CHECK(result.message == "");
  CHECK(result.times_allowed() < 1);
}

TEST_CASE("edge: cases and faults that slots do not have are refused with those that they have") {
  CHECK_THROWS_WITH_AS(run_slots(four_layers(), llama(), {}, {ForwardCase::preemption}),
                       "--case preemption: requests of llama.cpp go through the slots of a server, which has no such "
                       "case; take one of resume, branch, drafts, fresh-blocks, recycling, chunks, eviction, "
                       "decode-state, saved-prompts, one-past",
                       InputError);
  CHECK_THROWS_WITH_AS(run_slots(four_layers(), llama(), ForwardFault::tombstone_slot),
                       doctest::Contains("--inject tombstone-slot: requests of llama.cpp go through the slots of a "
                                         "server, which has no such fault; take one of skip-zeroing, wrong-accepted"),
                       InputError);
  CHECK_THROWS_WITH_AS(run_slots(four_layers(), {}, ForwardFault::foreign_cell),
                       doctest::Contains("--inject foreign-cell: requests of vLLM"), InputError);
}
