// Start-up logs: every printed figure must come out of the rules, and one that was changed must be named.
#include "ask/start/doctor.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "planner/engine_spec.h"
#include "planner/plan.h"
#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/ask/start/log_of_text.h"

using namespace hybridkv;

namespace {

/// A log of tests/data/doctor and the settings that printed it. Rows: of published_block_sizes.csv, the lines around
/// their figures are invented; the others: worked numbers of vLLM 0.33.0.
struct KnownLog {
  const char* file;
  const char* model;
  const char* release;
  const char* mode;
  std::size_t figures;
};
const std::vector<KnownLog> known_logs{
    {"row-3.txt", "Qwen3.5-4B", "vllm-2026-06", "none", 5},
    {"row-9.txt", "Qwen3.5-27B", "vllm-2026-06", "none", 2},
    {"row-45.txt", "Qwen3.6-35B-A3B", "vllm-2026-06", "align", 4},
    {"row-54.txt", "Qwen3.5-122B-A10B", "vllm-2026-06", "align", 2},
    {"row-57.txt", "Qwen3-Next-80B-A3B", "vllm-2026-06", "none", 3},
    {"row-61.txt", "Nemotron-3-Nano-4B", "vllm-2026-06", "none", 5},
    {"row-70.txt", "Nemotron-3-Ultra-550B-A55B", "vllm-2026-06", "none", 6},
    {"row-74.txt", "Falcon-H1-3B", "vllm-2026-06", "none", 5},
    {"row-93.txt", "GLM-5.3-Flash", "vllm-2026-06", "align", 5},
    {"row-105.txt", "Qwen3.5-27B", "vllm-2026-06", "align", 4},
    {"vllm-0.33-sm80.txt", "Qwen3.5-397B-A17B", "vllm-0.33", "align", 5},
    {"vllm-0.33-sm90.txt", "Qwen3.5-397B-A17B", "vllm-0.33", "align", 5},
    {"vllm-0.33-sm100-fa4.txt", "Qwen3.5-397B-A17B", "vllm-0.33", "align", 5},
    {"vllm-0.33-caching-off.txt", "Qwen3.5-397B-A17B", "vllm-0.33", "none", 5},
    {"vllm-0.33-nemotron.txt", "Nemotron-3-Nano-30B-A3B", "vllm-0.33", "align", 5},
    {"vllm-0.33-mtp.txt", "Qwen3.5-397B-A17B", "vllm-0.33", "align", 5},
};

std::string log_text(const std::string& file) {
  std::ifstream in(HYBRIDKV_TEST_DATA "/doctor/" + file);
  REQUIRE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

DoctorAnswer answer_of(const std::string& text, const std::string& asked = "{}") {
  const ScenarioFile said = parse_scenario(asked, "command line");
  return doctor({.log = testing::log_of_text(text), .log_name = "a log", .asked = said, .typed = {}});
}

std::string setting(const Explanation& explained, const std::string& key) {
  for (const auto& [name, value] : explained.settings)
    if (name == "engine." + key) return value;
  return {};
}

/// The log with another digit in one figure: the last one, of memory, whose last digits blocks hide, the first.
std::string with_figure_changed(const std::string& text, const StartupLog& log, LogKey key) {
  const LogValue& value = *log.find(key);
  std::istringstream lines(text);
  std::string changed, line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (number == value.line) {
      std::string plain, printed = value.text;  // as printed, with separators, the figure is the only such number
      for (const std::size_t length = printed.size(); plain.empty();) {
        if (line.find(printed) != std::string::npos) plain = printed;
        else if (printed.size() < length + 6 && printed.find('.') == std::string::npos)
          for (std::size_t at = printed.size(); at > 3;) printed.insert(at -= 3, ",");
        else FAIL("no figure in line " << line);
      }
      const std::size_t at = line.find(plain) + (key == LogKey::memory_gib ? 0 : plain.size() - 1);
      line[at] = line[at] <= '1' ? '7' : static_cast<char>(line[at] - 1);
    }
    changed += line + "\n";
  }
  return changed;
}

bool names(const std::vector<std::string>& sentences, LogKey key) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return sentence.find(std::string(to_string(key)) + " ") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("golden: ten published start-up logs and six of 0.33 are explained to the digit") {
  for (const KnownLog& known : known_logs) {
    CAPTURE(known.file);
    const DoctorAnswer answer = answer_of(log_text(known.file));
    CHECK(answer.explained.model == known.model);
    CHECK(answer.explained.figures.size() == known.figures);
    for (const FigureCheck& figure : answer.explained.figures)
      CHECK_MESSAGE(figure.explained, to_string(figure.key) << " " << figure.printed << " against " << figure.planned);
    CHECK(answer.contradictions.empty());
    // That latents have kernel blocks of 128 tokens is in no line of a log.
    CHECK(answer.explained.assumed.size() == (answer.explained.plan.specs.back().kind == "mla" ? 1 : 0));
    CHECK(setting(answer.explained, "release") == known.release);
    CHECK(setting(answer.explained, "cache_mode") == known.mode);
  }
}

TEST_CASE("fault: one figure changed is named, in every log and figure") {
  int changed = 0;
  for (const KnownLog& known : known_logs) {
    const std::string text = log_text(known.file);
    const StartupLog log = testing::log_of_text(text);
    for (const LogKey key : log_figures) {
      if (!log.find(key) || log.blocks_overridden) continue;
      CAPTURE(known.file);
      CAPTURE(to_string(key));
      const DoctorAnswer answer = answer_of(with_figure_changed(text, log, key));
      CHECK_FALSE(answer.explained.is_complete());
      CHECK(names(answer.contradictions, key));
      ++changed;
    }
  }
  CHECK(changed == 67);
}

TEST_CASE("golden: of five figures the one that was changed is named alone") {
  const std::string text = log_text("vllm-0.33-sm90.txt");
  for (const LogKey key : {LogKey::block_size, LogKey::padding_percent, LogKey::kv_cache_tokens, LogKey::concurrency}) {
    const DoctorAnswer answer = answer_of(with_figure_changed(text, testing::log_of_text(text), key));
    REQUIRE(answer.contradictions.size() == 1);
    CHECK(answer.contradictions.front().starts_with(to_string(key)));
    CHECK(answer.contradictions.front().find("cannot be: beside ") != std::string::npos);
  }
}

TEST_CASE("golden: a number of blocks that memory, tokens and concurrency speak against is named alone") {
  std::string text = log_text("vllm-0.33-sm90.txt");
  text.insert(text.find("Available KV cache memory"), "# GPU blocks: 1000\n");
  const DoctorAnswer answer = answer_of(text);
  REQUIRE(answer.contradictions.size() == 1);
  CHECK(answer.contradictions.front().starts_with("num_blocks 1000 cannot be: beside "));
  CHECK(answer.explained.num_blocks != 1000);
}

TEST_CASE("law: settings that do better hold more requests in no more memory") {
  for (const KnownLog& known : known_logs) {
    const DoctorAnswer answer = answer_of(log_text(known.file));
    for (const BetterSetting& better : answer.better)
      CHECK(better.concurrency > answer.explained.plan.capacity.front().max_concurrency);
  }
  CHECK_FALSE(answer_of(log_text("vllm-0.33-sm90.txt")).better.empty());
}

TEST_CASE("edge: windows hold the tokens of a step, which a log without them leaves open") {
  const auto figures_at = [](std::int64_t step) {
    const Scenario scenario = read_scenario(parse_scenario(
        fmt::format("{{model: gpt-oss-20b, engine: {{release: vllm-0.33, memory: 20 GiB, max_num_batched_tokens: {}}}, "
                    "limits: {{max_model_len: 32768}}}}", step), "a start"));
    const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
    return fmt::format("LLM engine (v0.33.0) with config: model='openai/gpt-oss-20b', max_seq_len=32768, "
                       "tensor_parallel_size=1, enable_prefix_caching=True\nAvailable KV cache memory: 20.00 GiB\n"
                       "GPU KV cache size: {} tokens\nMaximum concurrency for 32768 tokens per request: {:.2f}x\n",
                       plan.capacity.front().kv_cache_tokens, plan.capacity.front().max_concurrency);
  };
  for (const std::int64_t step : {2048, 8192, 16384}) {
    CAPTURE(step);
    const DoctorAnswer usual = answer_of(figures_at(step));
    CHECK(usual.explained.is_complete());
    CHECK(usual.contradictions.empty());
    CHECK(usual.undecided.empty());
  }
  const std::string odd = figures_at(5000);
  const DoctorAnswer unknown = answer_of(odd);
  CHECK(unknown.contradictions.empty());
  CHECK(unknown.undecided.find("--set engine.max_num_batched_tokens=TOKENS says it") != std::string::npos);
  CHECK(answer_of(odd, "{engine: {max_num_batched_tokens: 5000}}").explained.is_complete());
  // Said, the wrong number is a contradiction again.
  CHECK_FALSE(answer_of(odd, "{engine: {max_num_batched_tokens: 8192}}").contradictions.empty());
}

TEST_CASE("edge: capacities of requests of one token say how many blocks there are, too") {
  const DoctorAnswer answer = answer_of(
      "LLM engine (v0.33.0) with config: model='Qwen/Qwen3.5-4B', max_seq_len=1, tensor_parallel_size=1, "
      "enable_prefix_caching=True\nGPU KV cache size: 113 tokens\n");
  CHECK(answer.explained.length == 1);
  CHECK(answer.explained.is_complete());
  // A block of tokens and six of states for each request of a token.
  CHECK(answer.explained.num_blocks == 113 * 7);
}

TEST_CASE("edge: a capacity says nothing of the number of blocks where nobody says the length that it is for") {
  const std::string text = "LLM engine (v0.33.0) with config: model='Qwen/Qwen3.5-4B', tensor_parallel_size=1, "
                           "enable_prefix_caching=True\nGPU KV cache size: 113 tokens\n";
  const DoctorAnswer unknown = answer_of(text);
  CHECK(unknown.explained.length == 0);
  CHECK_FALSE(unknown.explained.num_blocks.has_value());
  CHECK_FALSE(unknown.explained.is_complete());
  CHECK(answer_of(text, "{limits: {max_model_len: 1}}").explained.num_blocks == 113 * 7);
}

TEST_CASE("edge: what the user says wins over the log") {
  const std::string text = log_text("vllm-0.33-sm90.txt");
  const DoctorAnswer june = answer_of(text, "{engine: {release: vllm-2026-06}}");
  CHECK(june.explained.plan.rules == &rules_of_vllm_2026_06);
  CHECK_FALSE(june.explained.is_complete());
  CHECK(answer_of(text, "{model: Qwen3.5-27B}").explained.model == "Qwen3.5-27B");
}

TEST_CASE("edge: figures of one start printed twice and differently, lengths that differ") {
  const std::string line = "Setting attention block size to 528 tokens to ensure\n";
  const std::string again = "model='Qwen/Qwen3.5-4B'\n" + line + "Setting attention block size to 544 tokens\n";
  CHECK(answer_of(again).contradictions.front() == "block_size is 528 in line 2 and 544 in line 3");
  const std::string restarted =
      "Setting attention block size to 544 tokens\nInitializing a V1 LLM engine (v0.22.0) model='Qwen/Qwen3.5-4B'\n" +
      line;
  CHECK(answer_of(restarted).contradictions.empty());
  const DoctorAnswer lengths = answer_of("model='Qwen/Qwen3.5-4B', max_seq_len=2048,\nMaximum concurrency for 1,024 "
                                         "tokens per request: 159.40x\n");
  CHECK(lengths.contradictions.front().find("configured for 2048 tokens (line 1)") != std::string::npos);
}

TEST_CASE("edge: a log without figures, without a model, empty, of another engine") {
  CHECK_THROWS_WITH_AS(answer_of(""), doctest::Contains("a log is empty; a start-up log of vLLM has lines like"),
                       InputError);
  CHECK_THROWS_WITH_AS(answer_of("hello\nworld\n"), doctest::Contains("has no figure of a KV cache in 2 lines"),
                       InputError);
  CHECK_THROWS_WITH_AS(answer_of("Setting attention block size to 528 tokens\n"),
                       doctest::Contains("names no model; pass --model NAME"), InputError);
  CHECK_THROWS_WITH_AS(answer_of("model='Qwen/Qwen3.6-4BB'\nSetting attention block size to 528 tokens\n"),
                       doctest::Contains("did you mean"), InputError);
}

TEST_CASE("edge: what is no number, too large or cut off is passed over") {
  for (const char* line : {"Setting attention block size to many tokens", "Setting attention block size to ",
                           "Setting attention block size to 99999999999999999999 tokens",
                           "Padding mamba page size by %", "GPU KV cache size: 1,2", "tokens per request: x", "\x1b[",
                           "\xff\xfe\x00"}) {
    CAPTURE(line);
    CHECK_FALSE(testing::log_of_text(line).has_figure());
  }
}
