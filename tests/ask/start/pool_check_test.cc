// Logs of engines that print sizes of pools: every figure follows from the settings, and one that was changed is named.
#include "ask/start/pool_check.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/ask/start/log_of_text.h"

using namespace hybridkv;

namespace {

std::string pool_sample(const std::string& name) {
  std::ifstream in(HYBRIDKV_SOURCE_DIR "/docs/samples/" + name);
  REQUIRE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

DoctorAnswer pools_of(const std::string& text, const std::string& asked = "{}") {
  return doctor({.log = testing::log_of_text(text), .log_name = "a log",
                 .asked = parse_scenario(asked, "command line"), .typed = {}});
}

std::string release_of(const DoctorAnswer& answer) {
  for (const auto& [key, value] : answer.explained.settings)
    if (key == "engine.release") return value;
  return {};
}

/// Whether the figure is explained in the log with another text in place of one that it has.
bool holds_with(const std::string& sample, const std::string& old, const std::string& other, LogKey key,
                const std::string& asked = "{}") {
  std::string text = pool_sample(sample);
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  const DoctorAnswer answer = pools_of(text.replace(at, old.size(), other), asked);
  const auto& figures = answer.explained.figures;
  const auto figure = std::find_if(figures.begin(), figures.end(),
                                   [&](const FigureCheck& one) { return one.key == key; });
  REQUIRE(figure != figures.end());
  CHECK(figure->explained == answer.contradictions.empty());
  return figure->explained;
}

const std::string model_of_trtllm = "{model: Qwen3.5-4B, limits: {max_model_len: 32k}}";

}  // namespace

TEST_CASE("golden: the figures of SGLang, llama.cpp and TensorRT-LLM follow from their settings") {
  const DoctorAnswer sglang = pools_of(pool_sample("sglang.txt"));
  CHECK(release_of(sglang) == "sglang-0.5.23");
  CHECK(sglang.explained.figures.size() == 7);
  CHECK(sglang.explained.is_complete());
  CHECK(sglang.contradictions.empty());
  const DoctorAnswer llama = pools_of(pool_sample("llama-server.txt"));
  CHECK(release_of(llama) == "llama.cpp");
  CHECK(llama.explained.model == "Qwen3.5-4B");
  CHECK(llama.explained.figures.size() == 7);
  CHECK(llama.explained.is_complete());
  const DoctorAnswer trtllm = pools_of(pool_sample("trtllm.txt"), model_of_trtllm);
  CHECK(release_of(trtllm) == "tensorrt-llm");
  CHECK(trtllm.explained.figures.size() == 4);
  CHECK(trtllm.explained.is_complete());
}

TEST_CASE("golden: figures of published logs of SGLang and llama.cpp come out of the rules") {
  struct Published {
    const char* asked;  ///< what the log does not say
    std::size_t figures;
    const char* text;   ///< the lines with figures
  };
  const Published logs[] = {
      // Qwen3.8-27B on a GB10, --max-mamba-cache-size 360.
      {"{model: Qwen3.8-27B, engine: {kv_dtype: fp8_e4m3, max_running_requests: 72}}", 7,
       "Mamba Cache is allocated. max_mamba_cache_size: 360, conv_state size: 0.99GB, ssm_state size: 50.77GB\n"
       "KV Cache is allocated. #tokens: 228520, K size: 3.49 GB, V size: 3.49 GB\n"
       "max_total_num_tokens=228520, max_running_requests=72, available_gpu_mem=29.76 GB\n"},
      // A Nemotron 3 Nano with vision, on four ranks, SGLang 0.5.21.
      {"{model: Nemotron-3-Nano-30B-A3B, engine: {tensor_parallel: 4}}", 6,
       "Mamba Cache is allocated. max_mamba_cache_size: 2211, conv_state size: 0.44GB, ssm_state size: 24.84GB\n"
       "KV Cache is allocated. dtype: float8_e4m3fn, #tokens: 19644177, K size: 14.05 GB, V size: 14.05 GB\n"},
      {"{model: Qwen3.5-9B}", 7,
       "llama_kv_cache: size = 4224.00 MiB (135168 cells, 8 layers, 4/1 seqs), K (f16): 2112.00 MiB, V (f16): 2112.00 "
       "MiB\nllama_memory_recurrent: size = 201.00 MiB (4 cells, 32 layers, 4 seqs), R (f32): 9.00 MiB, S (f32): "
       "192.00 MiB\n"},
      {"{model: Qwen3.5-4B}", 3,
       "llama_memory_recurrent: size =   50.25 MiB (     1 cells,  32 layers,  1 seqs  0 rs_seq), R (f32):    2.25 "
       "MiB, S (f32):   48.00 MiB\n"},
      {"{model: Qwen3.6-35B-A3B}", 3,
       "llama_memory_recurrent: size = 251.25 MiB (4 cells, 40 layers, 4 seqs), R (f32): 11.25 MiB, S (f32): 240.00 "
       "MiB\n"}};
  for (const Published& log : logs) {
    CAPTURE(log.text);
    const DoctorAnswer answer = pools_of(log.text, log.asked);
    CHECK(answer.explained.figures.size() == log.figures);
    CHECK(answer.explained.is_complete());
    CHECK(answer.contradictions.empty());
  }
}

TEST_CASE("golden: cells of q8_0 take 34 bytes for 32 elements") {
  const DoctorAnswer answer = pools_of(
      "llama_kv_cache: size =  544.00 MiB ( 32768 cells,   8 layers,  4/1 seqs), K (q8_0):  272.00 MiB, V (q8_0):  "
      "272.00 MiB\n", "{model: Qwen3.5-4B}");
  CHECK(answer.explained.figures.size() == 4);
  CHECK(answer.explained.is_complete());
}

TEST_CASE("fault: a size that does not follow from slots, cells or blocks is named") {
  CHECK(holds_with("sglang.txt", "conv_state size: 0.22GB", "conv_state size: 0.22GB", LogKey::conv_size));
  CHECK_FALSE(holds_with("sglang.txt", "conv_state size: 0.22GB", "conv_state size: 0.23GB", LogKey::conv_size));
  CHECK_FALSE(holds_with("sglang.txt", "V size: 5.27", "V size: 5.28", LogKey::v_size));
  CHECK_FALSE(holds_with("sglang.txt", "max_running_requests=39", "max_running_requests=40", LogKey::running_limit));
  CHECK_FALSE(holds_with("llama-server.txt", "R (f32):    9.00", "R (f32):    9.01", LogKey::conv_size));
  CHECK_FALSE(holds_with("llama-server.txt", "size = 1024.00 MiB (", "size = 1025.00 MiB (", LogKey::kv_size));
  CHECK_FALSE(holds_with("trtllm.txt", "76.12 GiB", "76.22 GiB", LogKey::kv_size, model_of_trtllm));
  CHECK_FALSE(holds_with("trtllm.txt", "(2494464)", "(2494432)", LogKey::token_slots, model_of_trtllm));
}

TEST_CASE("golden: batches of SGLang add up to a hit rate, and full states are why requests waited") {
  const DoctorAnswer answer = pools_of(pool_sample("sglang.txt"));
  const RunLog& run = answer.found.run;
  CHECK(run.find(RunKey::hit_tokens)->last == 3392);
  CHECK(run.find(RunKey::queried_tokens)->last == 19264);
  CHECK(run.most(RunKey::state_usage) == doctest::Approx(99));
  const auto has = [&](const std::string& code) {
    return std::any_of(answer.reasons.begin(), answer.reasons.end(),
                       [&](const RunReason& reason) { return reason.code == code; });
  };
  CHECK(has("states_full"));
  CHECK(has("waits_for_memory"));
}

TEST_CASE("golden: of what SGLang prints twice the first counts, of what llama.cpp prints twice the last") {
  const DoctorAnswer sglang = pools_of(
      pool_sample("sglang.txt") + "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 345676, K size: 0.66 GB, "
                                  "V size: 0.66 GB\n");
  CHECK(sglang.explained.is_complete());
  CHECK(sglang.contradictions.empty());
  const DoctorAnswer llama = pools_of("llama_kv_cache: size = 2048.00 MiB ( 65536 cells,   8 layers,  4/1 seqs)\n" +
                                      pool_sample("llama-server.txt"));
  CHECK(llama.explained.is_complete());
  CHECK(llama.contradictions.empty());
}
