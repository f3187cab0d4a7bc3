#include "ask/conform/conform_request.h"

#include <doctest/doctest.h>

#include "engines/sglang/engine.h"
#include "engines/vllm/engine.h"
#include "planner/tree_settings.h"
#include "scenarios/model_library.h"

using namespace hybridkv;

TEST_CASE("golden: a driver is told which layers are the model's and which a drafter's, that count on") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-4B")->model;
  ConformCase one = conform_cases(vllm_0_33, {.models = {model}}).front();
  one.engine.mtp_layers = 2;
  const nlohmann::ordered_json layers = conform_request(one, 7).at("model").at("layers");
  REQUIRE(layers.size() == model.layers.size() + 2);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CHECK(layers[i].at("layer").get<std::size_t>() == i);
    CHECK(layers[i].value("draft", false) == (i >= model.layers.size()));
  }
}

TEST_CASE("golden: a driver is told flags as true or false, choices by name, numbers as they are, and what is unset") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-4B")->model;
  ConformCase one = conform_cases(sglang_0_5_23, {.models = {model}}).front();
  one.engine.own.set(tree_key::page_size, 64);
  const nlohmann::ordered_json own = conform_request(one, 0).at("engine").at("own");
  CHECK(own.at("overlap_schedule").dump() == "true");
  CHECK(own.at("skip_decode_lock").dump() == "false");
  CHECK(own.at("mamba_radix_cache_strategy").dump() == "\"extra_buffer\"");
  CHECK(own.at("page_size").dump() == "64");
  CHECK(own.at("max_total_tokens").is_null());
}
