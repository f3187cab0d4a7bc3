// Releases and profiles as users name them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/require_refused.h"

using namespace hybridkv::testing;

TEST_CASE("golden: --engine and --backend-profile choose whose rules a plan follows") {
  const auto plan = [](const std::string& flags) {
    return nlohmann::json::parse(run_program("plan qwen3.5-397b --pack 1 --format json " + flags).output)["plans"][0];
  };
  CHECK(plan("")["release"] == "vllm-2026-06");
  const nlohmann::json later = plan("--engine vllm-0.33");
  CHECK(later["release"] == "vllm-0.33");
  CHECK(later["backend_profile"] == "sm90");
  CHECK(later["num_blocks"] == 1323);
  CHECK(plan("--engine vllm-0.33 --backend-profile sm80")["capacity"][0]["blocks_per_request"] == 22);
}

TEST_CASE("edge: a release or profile that is not there is refused with the nearest") {
  require_refused("plan qwen3.5-397b --engine vllm-0.3", "did you mean 'vllm-0.32' or 'vllm-0.33'?");
  require_refused("plan qwen3.5-397b --engine vllm-0.33 --backend-profile sm9", "did you mean 'sm90'");
  require_refused("plan qwen3.5-397b --engine vllm-0.33 --mode all", "has no mode all; take align or none");
}

TEST_CASE("law: every output says whose rules it shows") {
  for (const char* command :
       {"plan", "explain", "verify --pack 1", "simulate --requests 20", "recommend --requests 20 --pack 1"}) {
    CAPTURE(command);
    const std::string arguments = std::string(command) + " --model Qwen3.5-0.8B --memory 1GiB --max-model-len 4k";
    CHECK(contains(run_program(arguments).output, "vLLM 0.33.0"));
    CHECK(contains(run_program(arguments + " --engine vllm-2026-06").output, "vLLM main of June 2026 with PR 35703"));
  }
}

TEST_CASE("golden: a plan of June says in one line what vLLM 0.33 would print") {
  const std::string text = run_program("plan qwen3.5-397b --pack 1").output;
  CHECK(contains(text, "vLLM 0.33  would print blocks of 2,112 tokens, 52.92 requests of 32,768 tokens at once"));
  CHECK(contains(run_program("plan qwen3.5-397b --pack 1 --mode all").output, "vLLM 0.33  would refuse: "));
  CHECK(!contains(run_program("plan qwen3.5-397b --pack 1 --engine vllm-0.33").output, "would print"));
}
