#include "ask/conform/plan_record.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ask/conform/slot_record.h"
#include "engines/llama_cpp/engine.h"
#include "planner/plan.h"
#include "scenarios/model_library.h"
#include "scenarios/read.h"

using namespace hybridkv;

TEST_CASE("golden: the views in the record of a plan are those of the first layer of each group") {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-0.8B\nengine: {release: vllm-0.33, memory: 1 GiB}\nlimits: {max_model_len: 2048}\n", "s.yaml"));
  const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
  std::set<std::int64_t> first_layers;
  for (const GroupPlan& group : plan.groups) first_layers.insert(group.layers().front());
  const nlohmann::ordered_json views = plan_record(plan).at("views");
  std::multiset<std::string> tensors;
  for (const auto& view : views) {
    CHECK(first_layers.contains(view.at("layer").get<std::int64_t>()));
    tensors.insert(view.at("tensor").get<std::string>());
  }
  // One group of attention, and two tensors a group of states.
  const auto groups = static_cast<std::size_t>(std::ssize(plan.groups));
  CHECK(groups > 1);
  CHECK(tensors.count("kv") == 1);
  CHECK(tensors.count("state 0") == groups - 1);
  CHECK(tensors.count("state 1") == groups - 1);
  CHECK(tensors.size() == 1 + 2 * (groups - 1));
}

TEST_CASE("golden: tensors are told by their layers, though groups of states stand before those of attention") {
  Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-0.8B\nengine: {release: vllm-0.33, memory: 1 GiB}\nlimits: {max_model_len: 2048}\n", "s.yaml"));
  scenario.engine.layers_per_group = 2;
  const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
  std::vector<std::vector<std::int64_t>> grouped, told;
  for (const GroupPlan& group : plan.groups) grouped.push_back(group.layers());
  const nlohmann::ordered_json record = plan_record(plan);
  for (const auto& tensor : record.at("tensors"))
    told.push_back(tensor.at("layers").get<std::vector<std::int64_t>>());
  // 18 layers with states in nine groups, then 6 with attention in three, the first of them of layer 3.
  REQUIRE(grouped.size() == 12);
  CHECK_FALSE(std::is_sorted(grouped.begin(), grouped.end()));
  std::sort(grouped.begin(), grouped.end());
  CHECK(told == grouped);
}

TEST_CASE("law: what becomes of a prompt in slots follows from a rule of slots, a size of the plan from its decision") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-0.8B")->model;
  EngineSpec engine = llama_cpp.conformance->grid(model).front();
  engine.rules = llama_cpp.rules;
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {32'768}});
  for (const char* figure : {"saved", "loads", "found", "steps", "held"}) {
    CAPTURE(figure);
    const std::string name = std::string("replay.") + figure;
    const std::optional<Decision> decision = decision_on(plan, std::string("replay[2].") + figure);
    REQUIRE(decision);
    CHECK(decision->result.symbol == name);
    CHECK(decision->rule == slot_rule_on(name)->words);
  }
  REQUIRE(decision_on(plan, "slot_cells"));
  CHECK(decision_on(plan, "slot_cells")->result.symbol == "cells of a sequence");
  CHECK_FALSE(decision_on(plan, "replay[2].hits"));
}
