// An engine that is one folder and a line in the list answers every question, or says which member of it is null.
#include <doctest/doctest.h>

#include "ask/compare/compare.h"
#include "ask/forward.h"
#include "ask/plan.h"
#include "ask/plot/engine_curves.h"
#include "ask/plot/memory_curves.h"
#include "ask/recommend.h"
#include "ask/replay/bound.h"
#include "ask/replay/checkpoint_advice.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/sweep.h"
#include "ask/start/boot.h"
#include "ask/start/doctor.h"
#include "ask/transfer/transfer.h"
#include "base/error.h"
#include "tests/ask/asked.h"
#include "tests/ask/start/log_of_text.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/toys/first_come/block_rules.h"
#include "tests/toys/first_come/engine.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const std::string of_toy = "  release: toy-pools\n";
const std::string toy_traffic = "simulate: {losses: true, upper_bounds: true, trace: {max_requests: 100}}\n";

ScenarioFile toy_file(const std::string& engine = "") { return small_file(of_toy + engine, toy_traffic); }
Scenario toy_scenario(const std::string& engine = "") { return read_scenario(toy_file(engine)); }

/// Tokens that prompts of so many blocks of two find, one after another, in a cache of three blocks.
std::vector<std::int64_t> tokens_found(const BlockRules& rules, std::initializer_list<std::uint64_t> prompts) {
  CacheGeometry geometry{.block_size_tokens = 2, .num_blocks = 4};
  geometry.rules.blocks = &rules;
  std::vector<PromptSegments> segments;
  std::uint64_t last = 1000;
  for (const std::uint64_t id : prompts) segments.push_back({{id, 2}, {++last, 1}});
  std::vector<std::int64_t> found;
  for (const RequestRecord& record : run(geometry, {}, batch_of(segments)).records) found.push_back(record.hit_tokens);
  return found;
}

}  // namespace

TEST_CASE("golden: the block that came first goes, though another was used less") {
  using Found = std::vector<std::int64_t>;
  CHECK(tokens_found(plain_block_rules, {1, 2, 1, 3, 1}) == Found{0, 0, 2, 0, 2});
  CHECK(tokens_found(first_come_rules, {1, 2, 1, 3, 1}) == Found{0, 0, 2, 0, 0});
}

TEST_CASE("law: a toy engine is planned, explained, compared and moved as it says of itself") {
  const Scenario scenario = toy_scenario();
  const PlanSet set = plan_scenario(scenario, {1});
  const CachePlan& plan = set.plans.front();
  CHECK(plan.rules == first_come_engine.rules);
  CHECK(plan.strategy == Strategy::dual_pool);
  CHECK(plan.arenas.size() == 2);
  CHECK(!plan.derivation.empty());
  CHECK(!plan_answer(set, scenario).successor);
  const ScenarioFile other = small_file("  release: vllm-0.33\n", toy_traffic);
  CHECK(compare(compare_settings({toy_file(), other}, {}, 1), {.wanted = true}).num_refused() == 0);
  const TransferAnswer moved = transfer({.from = scenario, .to = toy_scenario("  tensor_parallel: 2\n")});
  CHECK(moved.counts.all.bytes == moved.counts.unique_bytes);
  CHECK(moved.from.evidence == Evidence::source_only);
}

TEST_CASE("law: a toy engine is replayed, with losses and bounds, by an eviction that no other engine has") {
  const Scenario scenario = toy_scenario();
  const auto found_by = [](const Scenario& one) {
    return simulate({one.simulate, planned_caches(one)}).caches.front();
  };
  const ReplayedCache toy = found_by(scenario);
  CHECK(toy.counts().taken_prompt_tokens > 0);
  CHECK(toy.losses->total.token_exact_tokens >= toy.counts().hit_tokens);
  CHECK(toy.blocks().geometry.rules.blocks == &first_come_rules);
  const std::vector<BoundAnswer> bound = bounds(compare_settings({toy_file()}, {}, 1));
  CHECK(bound.front().layout.feasible_tokens >= bound.front().found_tokens);
  CHECK(bound.front().layout.upper_tokens >= toy.counts().hit_tokens);
  CHECK(memory_curves(plot_inputs(scenario)).found.front().back().has_value());
  const SweepPoint point = SweepWorker(ScenarioSweep(toy_file()), {.verify = true, .simulate = true})
                               .answer({0}).front();
  CHECK(point.status == PointStatus::ok);
  CHECK(point.verification == Verdict::passed);
  CHECK(engine_rates(compare_settings({toy_file()}, {}, 1)).evidence.front() == Evidence::source_only);
  CHECK(!advise_checkpoints(scenario, {}).name.empty());
}

TEST_CASE("law: forward passes go through the pools of a toy engine") {
  ForwardSpec spec;
  spec.scale = 64;
  const ForwardAnswer answer = forward(forward_tasks(toy_scenario(), true), {spec});
  CHECK(answer.verdict == Verdict::passed);
  CHECK(answer.reports.front().rules == first_come_engine.rules);
}

TEST_CASE("edge: what a toy engine does not say of itself is not known of it, and what it cannot do is refused") {
  CHECK(recommend_scenario(toy_scenario(), {}).pick.serve.command.empty());
  CHECK_THROWS_WITH_AS(boot({.file = toy_file(), .gpu = {}, .printed_memory = {}, .max_num_seqs = {},
                             .enforce_eager = false, .scenario_word = {}, .typed = {}}),
                       doctest::Contains("how Toy pools starts is not known here: its rules were read, not run"),
                       InputError);
  const ScenarioFile said = parse_scenario("model: Qwen3.5-0.8B\nengine: {release: toy-pools}\n", "said.yaml");
  CHECK_THROWS_WITH_AS(doctor({.log = log_of_text("GPU KV cache size: 1,000 tokens\n"), .log_name = "a log",
                               .asked = said, .typed = {}}),
                       doctest::Contains("what Toy pools prints when it starts is not known here"), InputError);
  Scenario asked = toy_scenario();
  asked.simulate.scheduler.eviction = EvictionPolicy::worth;
  CHECK_THROWS_WITH_AS(planned_caches(asked), doctest::Contains("a cache of first come, first gone is replayed"),
                       InputError);
}
