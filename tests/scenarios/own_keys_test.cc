// Keys that engines name in their folders, and how the table of keys speaks of engines.
#include "scenarios/own_keys.h"

#include <doctest/doctest.h>

#include "planner/advised_release.h"
#include "scenarios/engine_words.h"
#include "scenarios/scenario_keys.h"

namespace hybridkv::test {

namespace {

const SectionInfo& keys_of_engines() { return *scenario_keys().info().find("engine")->section; }

}  // namespace

TEST_CASE("law: every key that an engine takes, explains or refuses is a key of a scenario, and each list is in use") {
  for (const EngineRules* const rules : all_engine_rules()) {
    CAPTURE(rules->name);
    const auto is_key = [](std::string_view key) {
      CAPTURE(key);
      CHECK(keys_of_engines().find(key) != nullptr);
    };
    for (const std::string_view key : rules->takes) is_key(key);
    for (const auto& meaning : rules->meanings) {
      is_key(meaning.key);
      CHECK(takes(*rules, meaning.key));
    }
    for (const auto& instead : rules->instead) {
      is_key(instead.key);
      CHECK_FALSE(takes(*rules, instead.key));
    }
  }
}

TEST_CASE("law: an own setting is a key with the engines that take it, its standard is one of its values") {
  for (const EngineRules* const rules : all_engine_rules())
    for (const OwnKey& own : rules->own_keys) {
      const SettingKey& setting = *own.key;
      CAPTURE(setting.name);
      const KeyInfo* const key = keys_of_engines().find(setting.name);
      REQUIRE(key != nullptr);
      CHECK(key->doc.find(own.meaning) != std::string::npos);
      CHECK(key->doc.find(engines_taking(setting.name) + ": ") == 0);
      CHECK(key->choices.size() == setting.choices.size());
      if (setting.type == SettingType::choice) CHECK(*setting.standard < std::ssize(setting.choices));
      else if (setting.type != SettingType::flag && setting.standard) {
        CHECK(*setting.standard >= setting.least);
        CHECK(*setting.standard <= setting.most);
      }
    }
}

TEST_CASE("golden: engines are called by their names, releases by the first of those that have a thing") {
  CHECK(engines_with([](const EngineRules&) { return true; }) ==
        "vllm, sglang, jenga, compact-slots, tensorrt-llm, llama.cpp");
  CHECK(engines_with([](const EngineRules& rules) { return rules.name == "vllm-0.33"; }) == "from vllm-0.33 on");
  CHECK(engines_with([](const EngineRules& rules) { return rules.one_allocation; }) == "from vllm-0.32 on");
  CHECK(advised_release([](const EngineRules& rules) { return rules.one_allocation; })->name == "vllm-0.33");
  CHECK(advised_release([](const EngineRules&) { return true; }) == default_rules());
  CHECK(advised_release([](const EngineRules&) { return false; }) == nullptr);
  CHECK(engines_with([](const EngineRules& rules) { return rules.name == "vllm-2026-06"; }) ==
        "some releases of vllm");
  CHECK(engines_with([](const EngineRules&) { return false; }).empty());
  CHECK(engines_taking("page_size") == "sglang");
  CHECK(meanings_of("block_size_tokens") == "tensorrt-llm: tokens_per_block, default 32");
}

}  // namespace hybridkv::test
