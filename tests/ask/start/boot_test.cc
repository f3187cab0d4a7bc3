// Will it boot: what an engine prints, what stops it, and settings that start.
#include "ask/start/boot.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ask/plan.h"
#include "base/error.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/start.h"
#include "planner/capacity.h"

using namespace hybridkv;

namespace {

BootQuestion question_of(const std::string& model, const std::string& engine, std::int64_t length) {
  const std::string text =
      fmt::format("model: {}\nengine: {{{}}}\nlimits: {{max_model_len: {}}}\n", model, engine, length);
  return {.file = parse_scenario(text, "boot.yaml")};
}

constexpr double real_gib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

TEST_CASE("golden: the lines of vLLM 0.33 for Qwen3.5-397B on two H100, as its worked numbers have them") {
  const BootAnswer answer = boot(question_of("Qwen3.5-397B-A17B", "tensor_parallel: 2, memory: 40 GiB", 32768));
  CHECK(answer.boots());
  CHECK(answer.rules == &rules_of_vllm_0_33);
  REQUIRE(answer.plan);
  CHECK(answer.plan->arenas.front().num_ids == 1323);
  CHECK(answer.lines == std::vector<std::string>{
                            "Setting attention block size to 2112 tokens to ensure that attention page size is >= "
                            "mamba page size.",
                            "Padding mamba page size by 1.34% to ensure that mamba page size and attention page size "
                            "are exactly equal.",
                            "Available KV cache memory: 40.00 GiB",
                            "GPU KV cache size: 1,734,082 tokens, Maximum concurrency for 32,768 tokens per request: "
                            "52.92x"});
}

TEST_CASE("golden: the published start of GLM-5.3-Flash on four H200, vllm-project/recipes pull request 906") {
  const BootAnswer answer =
      boot(question_of("GLM-5.3-Flash", "tensor_parallel: 4, num_blocks: 3081, memory: 38.435 GiB", 1048576));
  CHECK(answer.boots());
  CHECK(answer.lines.back() ==
        "GPU KV cache size: 3,511,589 tokens, Maximum concurrency for 1,048,576 tokens per request: 3.35x");
  const double size = static_cast<double>(answer.plan->allocated_bytes()) / real_gib;
  CHECK(fmt::format("{:.2f}", size) == "38.43");
}

TEST_CASE("golden: the published failure, 1,024 running requests against 626 state blocks, and a way out that starts") {
  BootQuestion question = question_of("Qwen3.8-Flash-Next", "tensor_parallel: 2, memory: 12.2 GiB", 262144);
  question.max_num_seqs = 1024;
  question.typed = {{"--max-num-seqs", "1024"}, {"--tp", "2"}};
  const BootAnswer answer = boot(question);
  REQUIRE_FALSE(answer.boots());
  CHECK(answer.failures.front().code == "running_requests");
  CHECK(answer.failures.front().message.starts_with("max_num_seqs (1024) exceeds available Mamba cache blocks (626)"));
  REQUIRE_FALSE(answer.tries.empty());
  CHECK(answer.tries.front().command == "hybridkv boot --tp 2 --max-num-seqs 626");
  question.max_num_seqs = 626;
  CHECK(boot(question).boots());
  question.max_num_seqs = 627;
  CHECK_FALSE(boot(question).boots());
  question.enforce_eager = true;
  CHECK(boot(question).boots());
}

TEST_CASE("golden: the longest request decides before the running ones, and the longest that fits starts") {
  BootQuestion question = question_of("Qwen3.5-4B", "memory: 1 GiB", 262144);
  const BootAnswer answer = boot(question);
  REQUIRE(answer.failures.size() == 2);
  CHECK(answer.failures[0].code == "longest_request");
  CHECK(answer.failures[1].code == "running_requests");
  REQUIRE_FALSE(answer.tries.empty());
  CHECK(answer.tries.front().command ==
        fmt::format("hybridkv boot --max-model-len {} --max-num-seqs {}", answer.plan->max_fitting_tokens,
                    answer.state_blocks));
  const auto with_length = [](std::int64_t length) {
    BootQuestion shorter = question_of("Qwen3.5-4B", "memory: 1 GiB", length);
    shorter.max_num_seqs = 1;
    return boot(shorter).boots();
  };
  CHECK(with_length(answer.plan->max_fitting_tokens));
  CHECK_FALSE(with_length(answer.plan->max_fitting_tokens + 1));
}

TEST_CASE("golden: a GPU's memory, share and weights, with what is estimated and by how much it was off") {
  const Gpu& h100 = find_gpu("nvidia h100");
  CHECK(h100.total_bytes == 85'017'493'504);
  const MemoryBudget budget = memory_budget(h100, 0.9, std::int64_t{27} << 30, std::nullopt, start_of_vllm);
  CHECK(budget.requested_bytes == 76'515'744'154);
  CHECK(budget.available_bytes == 76'515'744'154 - (std::int64_t{27} << 30) - start_of_vllm.beside_bytes);
  CHECK(fmt::format("{:.2f} {:.2f}", start_of_vllm.error_gib(start_of_vllm.published[0]),
                    start_of_vllm.error_gib(start_of_vllm.published[1])) ==
        "-0.79 1.15");
  BootQuestion question = question_of("Qwen3.5-27B", "memory: 1 GiB", 32768);
  question.gpu = GpuQuestion{.gpu = h100, .weights_bytes = std::int64_t{27} << 30};
  const BootAnswer answer = boot(question);
  CHECK(answer.memory_bytes == budget.available_bytes);
  CHECK(answer.max_num_seqs == 1024);
  CHECK(answer.backend_profile == BackendProfile::sm90);
  CHECK(answer.estimates.front().starts_with("estimated, not derived: 5.00 GiB beside weights and cache; on published "
                                             "starts that was 0.79 GiB too little (GLM-5.3-Flash"));
  question.gpu->beside_bytes = std::int64_t{3} << 30;
  CHECK(boot(question).memory_bytes == budget.available_bytes + (std::int64_t{2} << 30));
}

TEST_CASE("rule: backends are those of the GPU, unless others are asked for") {
  const auto profile = [](const char* engine) {
    BootQuestion question = question_of("Qwen3.5-4B", engine, 32768);
    question.gpu = GpuQuestion{.gpu = find_gpu("L4"), .weights_bytes = std::int64_t{8} << 30};
    return boot(question).backend_profile;
  };
  // An L4 runs FlashAttention 2 and scans of Triton.
  CHECK(profile("memory: 1 GiB") == BackendProfile::sm80);
  CHECK(profile("memory: 1 GiB, backend_profile: sm90-flashinfer") == BackendProfile::sm90_flashinfer);
}

TEST_CASE("edge: weights that leave nothing, and memory for no request at all") {
  BootQuestion question = question_of("Qwen3.5-27B", "memory: 1 GiB", 32768);
  question.gpu = GpuQuestion{.gpu = find_gpu("L4"), .weights_bytes = std::int64_t{54} << 30};
  const BootAnswer nothing_left = boot(question);
  REQUIRE(nothing_left.failures.size() == 1);
  CHECK(nothing_left.failures.front().code == "memory");
  CHECK_FALSE(nothing_left.plan);
  const BootAnswer tiny = boot(question_of("Qwen3.5-27B", "memory: 1 MiB", 32768));
  CHECK(tiny.failures.front().code == "memory");
}

TEST_CASE("golden: a pool that a request fills only with the null block is warned of, with drafts and without") {
  for (const char* drafts : {"", "speculative_tokens: 2, mtp_layers: 1, "}) {
    const std::string engine = std::string("release: vllm-2026-06, ") + drafts + "num_blocks: ";
    const BootAnswer wide = boot(question_of("Qwen3.5-4B", engine + "1000", 1));
    const SpecPlan& first = wide.plan->specs.front();
    const std::int64_t block = first.attention ? first.block_size_tokens : wide.plan->specs[1].block_size_tokens;
    const std::int64_t length = 4 * block;
    const std::int64_t ids = request_demand(*wide.plan, length).total();
    const auto with_blocks = [&](std::int64_t blocks) {
      BootQuestion question = question_of("Qwen3.5-4B", engine + std::to_string(blocks), length);
      question.max_num_seqs = 1;
      const BootAnswer answer = boot(question);
      CHECK(answer.boots());
      return answer;
    };
    const BootAnswer stalls = with_blocks(ids);
    REQUIRE(stalls.warnings.size() == 1);
    CHECK(stalls.warnings.front().find("it preempts itself for ever") != std::string::npos);
    REQUIRE_FALSE(stalls.tries.empty());
    CHECK(stalls.tries.front().command == fmt::format("hybridkv boot --max-model-len {}", length - block));
    CHECK(with_blocks(ids + 1).warnings.empty());
    // As many running requests as there is room for are no way out of that warning.
    BootQuestion full = question_of("Qwen3.5-4B", engine + std::to_string(ids), length);
    full.max_num_seqs = stalls.plan->max_running_requests;
    const BootAnswer filled = boot(full);
    CHECK(filled.warnings.size() == 1);
    for (const BootTry& one : filled.tries) CHECK(one.command.find("--max-num-seqs") == std::string::npos);
  }
}

TEST_CASE("law: a printed memory is said to leave the blocks open exactly where its last digit does") {
  const auto ask = [](std::int64_t bytes) {
    return question_of("Qwen3.5-397B-A17B", fmt::format("tensor_parallel: 2, memory: {}B", bytes), 32768);
  };
  const auto blocks = [&](std::int64_t bytes) { return boot(ask(bytes)).plan->arenas.front().num_ids; };
  constexpr std::int64_t half_of_last_digit = (std::int64_t{1} << 30) / 200;
  int open = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t bytes = (std::int64_t{40} << 30) + i * (std::int64_t{1} << 30) / 100;
    BootQuestion question = ask(bytes);
    question.printed_memory = bytes;
    const std::vector<std::string> said = boot(question).estimates;
    const bool is_open = blocks(bytes - half_of_last_digit) != blocks(bytes + half_of_last_digit);
    CHECK(std::any_of(said.begin(), said.end(), [](const std::string& text) {
            return text.starts_with("engines round the memory to 0.01 GiB");
          }) == is_open);
    open += is_open ? 1 : 0;
  }
  CHECK(open > 0);
  CHECK(open < 8);
}

TEST_CASE("edge: as many running requests as there is room for are no reason to ask for fewer") {
  BootQuestion question = question_of("Qwen3.5-4B", "memory: 8 GiB", 32768);
  question.max_num_seqs = 1;
  const std::int64_t most = boot(question).plan->max_running_requests;
  const auto tries_fewer = [&](std::int64_t asked) {
    question.max_num_seqs = asked;
    const BootAnswer answer = boot(question);
    CHECK(answer.boots());
    return std::any_of(answer.tries.begin(), answer.tries.end(), [](const BootTry& one) {
      return one.command.find("--max-num-seqs") != std::string::npos;
    });
  };
  CHECK_FALSE(tries_fewer(most));
  CHECK(tries_fewer(most + 1));
}

TEST_CASE("golden: a GPU without a name, and more ranks where the weights leave nothing, unless they were measured") {
  BootQuestion question = question_of("Qwen3.5-27B", "memory: 1 GiB", 32768);
  question.gpu = GpuQuestion{.gpu = unnamed_gpu(find_gpu("L4").total_bytes)};
  BootAnswer answer = boot(question);
  CHECK_FALSE(answer.boots());
  REQUIRE(answer.tries.size() == 1);
  CHECK(answer.tries.front().command == "hybridkv boot --tp 8");
  question.gpu->weights_bytes = std::int64_t{54} << 30;
  CHECK(boot(question).tries.empty());
  question.gpu = GpuQuestion{.gpu = find_gpu("H200")};
  CHECK(boot(question).boots());
}

TEST_CASE("edge: a GPU that is not known") {
  CHECK_THROWS_WITH_AS(find_gpu("H10"), doctest::Contains("did you mean 'H100'?"), InputError);
  CHECK_THROWS_WITH_AS(find_gpu("A100"), doctest::Contains("did you mean 'A100-PCIe' or 'A100-SXM-80GB'"), InputError);
  CHECK_THROWS_WITH_AS(find_gpu("TPU"), doctest::Contains("by --gpu-memory, or by --available-memory"), InputError);
  CHECK(find_gpu("AMD Instinct MI300X").profile == BackendProfile::rocm);
  CHECK(&find_gpu("RTX 4090") == &find_gpu("4090"));
  CHECK(&find_gpu("A6000") == &find_gpu("rtx-a6000"));
}

TEST_CASE("edge: how an engine with a radix tree starts is not told in the words of another") {
  CHECK_THROWS_WITH_AS(
      boot(question_of("Qwen3.5-4B", "release: sglang-0.5.23, memory: 40 GiB", 2048)),
      doctest::Contains("how SGLang 0.5.23 starts is not known here; hybridkv plan shows"), InputError);
  CHECK_THROWS_WITH_AS(boot(question_of("Qwen3.5-4B", "release: tensorrt-llm, memory: 80 GiB", 2048)),
                       doctest::Contains("how TensorRT-LLM starts is not known here; hybridkv plan shows"), InputError);
  CHECK_THROWS_WITH_AS(boot(question_of("Qwen3.5-4B", "release: llama.cpp, memory: 40 GiB", 2048)),
                       doctest::Contains("starts is not known here"), InputError);
}

TEST_CASE("edge: what boot refuses names the value where it was typed, and what plan refuses is said in its words") {
  const auto refusal_of = [](BootQuestion question) {
    try {
      boot(question);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  BootQuestion typed = question_of("Qwen3.5-4B", "memory: 40 GiB", 2048);
  apply_override(typed.file, "engine.release", "sglang-0.5.23", "--engine sglang-0.5.23");
  CHECK(refusal_of(typed).starts_with("--engine sglang-0.5.23: engine.release: how SGLang 0.5.23 starts"));
  // One rank has room for a token and not for the length: it is no way out.
  const BootQuestion ranks = question_of("Falcon-H1-3B", "release: vllm-2026-06, tensor_parallel: 8, memory: 2 GiB",
                                         65536);
  const Scenario scenario = read_scenario(ranks.file);
  CHECK_THROWS_WITH_AS(plan_scenario(scenario, scenario.pack_sizes), refusal_of(ranks).c_str(), InputError);
  CHECK(refusal_of(ranks).find("take 2;") != std::string::npos);
  BootQuestion of_stages = question_of("Qwen3.5-4B", "pipeline_parallel: 2, pipeline_memory: [4 GiB, 5 GiB]", 2048);
  of_stages.gpu = GpuQuestion{.gpu = find_gpu("L4"), .weights_bytes = std::int64_t{1} << 30};
  CHECK(refusal_of(of_stages).starts_with("boot.yaml:2:"));
}

TEST_CASE("edge: a number of blocks that is too small is said in blocks") {
  const BootAnswer few = boot(question_of("Qwen3.5-4B", "num_blocks: 3", 2048));
  REQUIRE_FALSE(few.boots());
  CHECK(few.failures.front().message == "3 blocks hold not even a request of one token");
}

TEST_CASE("golden: a model that 0.33 has no class for does not start, whatever the memory, and does in June") {
  for (const char* model : {"Bamba-9B", "MiniMax-Text-01", "plamo-2-1b"}) {
    CAPTURE(model);
    const BootAnswer answer = boot(question_of(model, "memory: 400 GiB", 8192));
    REQUIRE_FALSE(answer.boots());
    CHECK(answer.failures.front().code == "not_served");
    CHECK(answer.failures.front().message.starts_with("vLLM 0.33.0 does not serve "));
    CHECK(answer.tries.empty());
    CHECK(boot(question_of(model, "memory: 400 GiB, release: vllm-2026-06", 8192)).boots());
  }
}
