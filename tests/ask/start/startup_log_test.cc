// What of a log counts where it says one thing twice.
#include "ask/start/startup_log.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

StartupLog log_of(std::initializer_list<std::string_view> lines) {
  StartupLogReader reader;
  std::int64_t number = 0;
  for (const std::string_view line : lines) reader.add(line, ++number);
  return reader.finish();
}

std::string value_of(const StartupLog& log, LogKey key) { return log.find(key) ? log.find(key)->text : "none"; }

}  // namespace

TEST_CASE("golden: of a setting that is printed twice in one start the later counts, but auto says nothing") {
  const StartupLog log = log_of({"LLM engine (v0.33.0) with config: model='Org/Main', max_seq_len=4096, "
                                 "kv_cache_dtype=auto, tensor_parallel_size=1",
                                 "Using fp8_e4m3 data type to store kv cache", "resolved: tensor_parallel_size=2",
                                 "loader: kv_cache_dtype=auto"});
  CHECK(value_of(log, LogKey::kv_dtype) == "fp8_e4m3");
  CHECK(value_of(log, LogKey::tensor_parallel) == "2");
  CHECK(log.disagreements.empty());
}

TEST_CASE("golden: release, model and length are those of the model, not of a draft model behind it") {
  const StartupLog log = log_of({"LLM engine (v0.33.0) with config: model='Org/Main', max_seq_len=4096",
                                 "API server version 0.32.0: model='Org/Draft', max_seq_len=2048"});
  CHECK(value_of(log, LogKey::model) == "Org/Main");
  CHECK(log.models == std::vector<std::string>{"Org/Main", "Org/Draft"});
  CHECK(value_of(log, LogKey::version) == "0.33.0");
  CHECK(value_of(log, LogKey::max_model_len) == "4096");
}

TEST_CASE("golden: of the memory of several ranks the smallest counts, figures that differ are named") {
  const StartupLog log = log_of({"Available KV cache memory: 40.25 GiB", "Available KV cache memory: 39.75 GiB",
                                 "Available KV cache memory: 41.00 GiB", "GPU KV cache size: 1,000 tokens",
                                 "GPU KV cache size: 1,008 tokens"});
  CHECK(value_of(log, LogKey::memory_gib) == "39.75");
  REQUIRE(log.disagreements.size() == 1);
  CHECK(log.disagreements.front() == "kv_cache_tokens is 1000 in line 4 and 1008 in line 5");
}
