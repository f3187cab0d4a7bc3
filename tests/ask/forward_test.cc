#include "ask/forward.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "scenarios/model_library.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: every shipped model is run at N = 1 and 3, or at the packs chosen, with what else was asked") {
  const ForwardTasks all = forward_tasks_of_all_models(false);
  const auto is_refused = [&](const std::string& model) {
    return std::any_of(all.notes.begin(), all.notes.end(),
                       [&](const std::string& note) { return note.starts_with(model + " is left out at N = 3: "); });
  };
  std::vector<std::pair<std::string, std::int64_t>> expected, tasks;
  for (const ShippedModel& shipped : shipped_models())
    for (const std::int64_t pack : {1, 3})
      if (pack == 1 || !is_refused(shipped.model.name)) expected.emplace_back(shipped.model.name, pack);
  for (const ForwardTask& task : all.tasks) tasks.emplace_back(task.model.name, task.engine.attention_pack_size);
  CHECK(tasks == expected);
  CHECK(is_refused("MiniMax-M3"));
  const ForwardTasks chosen = forward_tasks_of_all_models(true, [](ScenarioFile& file) {
    apply_override(file, "engine.attention_pack_size=2");
    apply_override(file, "engine.speculative_tokens=1");
    apply_override(file, "engine.memory=1 MiB");  // pools are sized by what runs through them
  });
  REQUIRE(chosen.tasks.size() == shipped_models().size());
  for (const ForwardTask& task : chosen.tasks) {
    CHECK(task.engine.attention_pack_size == 2);
    CHECK(task.engine.speculative_tokens == 1);
    CHECK(task.engine.memory_bytes == std::int64_t{1} << 40);
  }
}

TEST_CASE("law: a release with radix pools runs at N = 1 the models that it plans, and names the others") {
  const ForwardTasks all = forward_tasks_of_all_models(
      false, [](ScenarioFile& file) { apply_override(file, "engine.release=sglang-0.5.23"); });
  CHECK(all.tasks.size() >= 30);
  std::size_t left_out = 0;
  for (const std::string& note : all.notes) left_out += note.find(" is left out: ") != std::string::npos;
  CHECK(all.tasks.size() + left_out == shipped_models().size());
  for (const ForwardTask& task : all.tasks) CHECK(task.engine.attention_pack_size == 1);
  const auto is_left_out = [&](const std::string& model) {
    return std::any_of(all.notes.begin(), all.notes.end(),
                       [&](const std::string& note) { return note.starts_with(model + " is left out: "); });
  };
  CHECK_FALSE(is_left_out("Qwen3.5-4B"));
  CHECK(is_left_out("Llama-3.1-8B"));  // it has no recurrent layers
  CHECK(is_left_out("gpt-oss-20b"));   // its windows are not planned
  // What is wrong with the engine is no matter of a model.
  CHECK_THROWS_WITH_AS(forward_tasks_of_all_models(false,
                                                   [](ScenarioFile& file) {
                                                     apply_override(file, "engine.release=sglang-0.5.23");
                                                     apply_override(file, "engine.page_size=0");
                                                   }),
                       doctest::Contains("engine.page_size"), InputError);
}

TEST_CASE("law: a fault of the engine is planted into the case that finds it, unless cases are named") {
  const ForwardSpec plain{.scale = 8};
  REQUIRE(forward_specs(plain, {}).size() == 1);
  CHECK_FALSE(forward_specs(plain, {}).front().fault.has_value());
  const std::vector<ForwardSpec> specs = forward_specs(plain, {ForwardFault::no_recompute, Fault::lost_kv});
  REQUIRE(specs.size() == 2);
  CHECK(specs[0].fault == ForwardFault::no_recompute);
  CHECK(specs[0].cases == std::vector{ForwardCase::preemption});
  CHECK(specs[1].layout_fault == Fault::lost_kv);
  CHECK(specs[1].cases.empty());
  CHECK(specs[1].scale == 8);
  const ForwardSpec named{.cases = {ForwardCase::branch}};
  CHECK(forward_specs(named, {ForwardFault::no_recompute}).front().cases == named.cases);
}

TEST_CASE("golden: tasks of a scenario run with every spec, task by task") {
  const std::vector<ForwardTask> tasks = forward_tasks(small_scenario("  attention_pack_size: [1, 2]\n"), false);
  REQUIRE(tasks.size() == 2);
  const ForwardSpec one{.modes = {CacheMode::align}, .cases = {ForwardCase::resume}};
  std::size_t runs = 0;
  const ForwardAnswer answer = forward(tasks, {one, one}, Planted::no_or_single,
                                       [&](const ForwardTask&, std::size_t run, int, int) { runs = run + 1; });
  REQUIRE(answer.reports.size() == 4);
  CHECK(answer.reports[1].attention_pack_size == 1);
  CHECK(answer.reports[2].attention_pack_size == 2);
  CHECK(runs == 4);
  CHECK(answer.verdict == Verdict::passed);
}

TEST_CASE("law: a name plants a fault of the engine or of the layout, and all plants those that the release has") {
  const EngineRules &blocks = rules_of_vllm_2026_06, &tree = rules_of_sglang_0_5_23;
  CHECK(forward_plants("missed-page-copy", blocks) == std::vector<ForwardPlant>{ForwardFault::missed_page_copy});
  CHECK(forward_plants("stride-order", blocks) == std::vector<ForwardPlant>{Fault::stride_order});
  CHECK(forward_plants("all", blocks).size() == forward_faults_of(blocks).size());
  CHECK(forward_plants("all", tree) != forward_plants("all", blocks));
  CHECK(forward_plants("missed", blocks).empty());
  CHECK(forward_plants("", blocks).empty());
}
