#include "ask/replay/checkpoint_advice.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CheckpointAnswer advice_of(const std::string& engine, const std::vector<std::optional<std::int64_t>>& retentions) {
  return advise_checkpoints(small_scenario(engine, "simulate: {trace: {max_requests: 150}}\n"), retentions);
}

}  // namespace

TEST_CASE("rule: an interval that is no multiple of the block finds what last states find, and 0.33 refuses it") {
  const std::int64_t unit = advice_of("", {0}).unit_tokens;
  REQUIRE(unit > 3);
  const CheckpointAnswer june = advice_of("", {0, unit + 1, unit, 2 * unit});
  const auto found = [&](std::size_t interval) { return june.settings[3 * interval].found_tokens; };
  CHECK(found(0) > 0);
  CHECK(found(1) == found(0));
  CHECK(june.settings[3].states_made == june.settings[0].states_made);
  CHECK(!june.has_effect(unit + 1));
  CHECK(june.has_effect(2 * unit));
  const CheckpointAnswer later = advice_of("  release: vllm-0.33\n", {0, 1000003});
  CHECK(later.settings[0].refused == "");
  CHECK(later.settings[1].refused.find("keeps states at multiples of") != std::string::npos);
}

TEST_CASE("rule: more places never leave more to compute, and all are multiples of the block") {
  const CheckpointAnswer advice = advice_of("", {});
  CHECK(advice.requests > 50);
  CHECK(advice.sharing_requests > 0);
  CHECK(advice.settings.size() == 12);
  double before = static_cast<double>(advice.shared_tokens);
  for (const CheckpointAnswer::Places& places : advice.places) {
    CHECK(std::ssize(places.tokens) <= places.states);
    CHECK(places.recomputed_tokens <= before);
    before = places.recomputed_tokens;
    for (const std::int64_t at : places.tokens) CHECK(at % advice.unit_tokens == 0);
  }
  for (const std::int64_t found : advice.found_back) CHECK(found <= advice.shared_tokens);
}

TEST_CASE("fault: advice is for pools of blocks in mode align") {
  const auto message_of = [](const std::string& engine) {
    try {
      advice_of(engine, {});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message_of("  release: sglang-0.5.23\n").find("keeps states by rules of its own") != std::string::npos);
  // Of a model without states the mode says nothing.
  const Scenario stateless = read_scenario(parse_scenario(
      "model: gpt-oss-20b\nengine: {memory: 40 GiB, cache_mode: align}\nlimits: {max_model_len: 4096}\n", "a.yaml"));
  CHECK_THROWS_WITH_AS(advise_checkpoints(stateless, {}),
                       doctest::Contains("gpt-oss-20b keeps no states, so there are no checkpoints to place"),
                       InputError);
}

TEST_CASE("fault: advice is of one pack and one length: several typed ones are refused, of a file the first is taken") {
  const auto asked = [](const char* key, const char* values, const char* shown) {
    ScenarioFile file = small_file("", "simulate: {trace: {max_requests: 20}}\n");
    apply_override(file, key, values, shown);
    return read_scenario(file);
  };
  CHECK_THROWS_WITH_AS(advise_checkpoints(asked("engine.attention_pack_size", "[3, 1]", "--pack 3,1"), {}),
                       doctest::Contains("--pack 3,1: engine.attention_pack_size: 2 values where one is answered; "
                                         "give one of 3, 1, or all to `hybridkv compare`"),
                       InputError);
  CHECK_THROWS_WITH_AS(
      advise_checkpoints(asked("limits.max_model_len", "[1k, 4k]", "--max-model-len 1k,4k"), {}),
      doctest::Contains("--max-model-len 1k,4k: limits.max_model_len: 2 values where one is answered"), InputError);
  const Scenario of_file =
      small_scenario("  attention_pack_size: [3, 1]\n", "simulate: {trace: {max_requests: 20}}\n");
  CHECK(advise_checkpoints(of_file, {}).name == "N = 3");
}
