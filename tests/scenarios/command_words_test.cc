#include "scenarios/command_words.h"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

using namespace hybridkv;

TEST_CASE("golden: a scenario, keys of --set and flags stand in one order, quoted where a shell needs it") {
  CommandWords words{.scenario = "my scenario.yaml", .overrides = {"engine.num_blocks=9"}, .values = {}, .replay = {}};
  words.value_of("engine.cache_mode") = "align";
  words.value_of("model") = "Qwen3.5-4B";
  words.replay = {{"--trace", "a b.jsonl"}, {"--skip-bad-lines", ""}};
  CHECK(shell_words(words) ==
        "'my scenario.yaml' --set engine.num_blocks=9 --model Qwen3.5-4B --mode align");
  CHECK(replay_words(words) == " --trace 'a b.jsonl' --skip-bad-lines");
  CHECK(words.replays_with("--skip-bad-lines"));
  CHECK_FALSE(words.replays_with("--requests"));
  CHECK(shell_words(CommandWords{}).empty());
  CHECK_THROWS_AS(words.value_of("simulate.driver"), std::logic_error);
}

TEST_CASE("law: of flags and keys each has one of the other") {
  std::set<std::string_view> flags, keys;
  const auto add = [&](const auto& table) {
    for (const KeyFlag& one : table) {
      CHECK(flags.insert(one.flag).second);
      CHECK(keys.insert(one.key).second);
      CHECK(flag_of_key(table, one.key) == one.flag);
      CHECK(key_of_flag(table, one.flag) == one.key);
    }
  };
  add(key_flags);
  add(replay_flags);
  CHECK(flag_of_key(key_flags, "engine.num_blocks").empty());
  CHECK(key_of_flag(replay_flags, "--pack").empty());
}
