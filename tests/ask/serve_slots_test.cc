// The command line of llama-server.
#include <doctest/doctest.h>

#include "ask/plan.h"
#include "engines/serve.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

ServeCommand served_slots(const std::string& engine) {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-27B\nengine:\n  release: llama.cpp\n  memory: 40 GiB\n" + engine +
      "limits:\n  max_model_len: [32768, 8192]\n", "slots.yaml"));
  const PlanSet set = plan_scenario(scenario, {1});
  return serve_command({scenario.model, scenario.engine, scenario.limits, scenario.simulate.scheduler,
                        set.plans.front(), own_settings(scenario.engine)});
}

}  // namespace

TEST_CASE("golden: the command line of llama.cpp says its cells, whether they are shared, and what was set") {
  // (40 GiB - 4 rows of 156,893,184 bytes) / 65,536 bytes, in whole 256.
  CHECK(served_slots("").command ==
        "llama-server --model Qwen3.5-27B.gguf --ctx-size 645632 --kv-unified --parallel 4 --ctx-checkpoints 32 "
        "--checkpoint-min-step 8192 --cache-ram 8192");
  CHECK(served_slots("  max_running_requests: 6\n  batch_size: 4096\n  cache_ram: 1024\n  cache_idle_slots: false\n"
                     "  slot_prompt_similarity_percent: 50\n  cache_type_k: q8_0\n")
            .command.find(" --parallel 6 --ctx-checkpoints 32 --checkpoint-min-step 8192 --cache-ram 1024 "
                          "--batch-size 4096 --no-cache-idle-slots --slot-prompt-similarity 0.50 "
                          "--cache-type-k q8_0") !=
        std::string::npos);
  const ServeCommand none = served_slots("  cache_mode: none\n  max_running_requests: 6\n  speculative_tokens: 3\n");
  CHECK(none.command.find("--kv-unified") == std::string::npos);
  CHECK(none.command.find("--ctx-checkpoints 0 --checkpoint-min-step 8192 --cache-ram 0 --spec-type draft-mtp") !=
        std::string::npos);
}
