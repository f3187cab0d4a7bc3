#include "ask/plot/engine_curves.h"

#include <doctest/doctest.h>

#include "ask/replay/replay_settings.h"
#include "base/error.h"

using namespace hybridkv;

namespace {

std::vector<CompareSetting> settings_of(const std::string& memory) {
  return compare_settings({parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: [vllm-0.33, sglang-0.5.23], " + memory +
          "}\nlimits: {max_model_len: 16k}\n"
          "simulate:\n  trace:\n"
          "    prompts: [{tokens: 3000}, {tokens: 3000, shared_tokens: 2000, variants: 6, copies: 2}]\n",
      "test")});
}

}  // namespace

TEST_CASE("law: the parts of a request are all that it takes, and no layout takes less than the ideal") {
  const EngineRequests requests = engine_requests(settings_of("memory: 20 GiB"));
  CHECK(requests.tokens == 16'384);
  REQUIRE(requests.engines.size() == 2);
  for (const EngineRequest& engine : requests.engines) {
    CAPTURE(engine.name);
    CHECK(engine.refused.empty());
    CHECK(engine.bytes == engine.parts.used_bytes() + engine.parts.wasted_bytes());
    CHECK(engine.parts.token_bytes + engine.parts.state_bytes == requests.ideal_bytes);
    CHECK(engine.bytes > requests.ideal_bytes);
  }
}

TEST_CASE("law: a curve is what a replay finds under each memory, and never above the bound") {
  const std::vector<CompareSetting> settings = settings_of("memory: 20 GiB");
  int calls = 0;
  const EngineRates rates = engine_rates(settings, [&](int done, int total) {
    CHECK(done == calls++);
    CHECK(total == 12);
  });
  CHECK(calls == 12);
  REQUIRE(rates.found.size() == 2);
  REQUIRE(rates.memory_bytes.size() == 6);
  CHECK(rates.memory_bytes[3] == settings.front().scenario.engine.memory_bytes);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const ReplayCounts alone = replay_setting(settings[i].scenario).counts();
    CHECK(rates.found[i][3] == alone.hit_rate());
    for (const auto& share : rates.found[i]) CHECK(share.value_or(0) <= rates.token_exact);
  }
  CHECK(rates.found[1][5] > 0);
}

TEST_CASE("edge: memory that is too little for one engine is a gap, blocks in place of memory are refused") {
  const EngineRates rates = engine_rates(settings_of("memory: 900 MiB"));
  CHECK(!rates.found[0][0].has_value());
  CHECK(rates.found[0][5].has_value());
  CHECK_THROWS_AS(engine_rates(settings_of("memory: 1 MiB")), InputError);
  CHECK_THROWS_AS(engine_rates(settings_of("num_blocks: 900")), InputError);
}

TEST_CASE("edge: an engine that cannot plan says why, the others are drawn") {
  const EngineRequests requests = engine_requests(settings_of("memory: 20 GiB, page_size: 16"));
  CHECK(requests.engines[0].refused.find("page_size") != std::string::npos);
  CHECK(requests.engines[0].bytes == 0);
  CHECK(requests.engines[1].bytes > 0);
}
