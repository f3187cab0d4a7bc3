// Models whose layers keep no K and V of every token: every question is answered or refused, and none crashes. Of them
// and of small models with attention no text gives one of a thing in its plural.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;

namespace {

constexpr const char* kinds =
    "name: hand-written\nsource: hand-written\ndtype: bf16\nkinds:\n"
    "  w: {type: sliding_window, query_heads: 4, kv_heads: 2, head_size: 32, window_tokens: 32}\n"
    "  g: {type: gdn, key_heads: 2, value_heads: 4, key_head_dim: 32, value_head_dim: 32, conv_kernel: 4}\n"
    "  k: {type: kda, heads: 4, head_dim: 32, conv_kernel: 4}\n"
    "  m: {type: mamba1, inner_size: 256, state_size: 16, conv_kernel: 4}\n"
    "  n: {type: mamba2, heads: 4, head_dim: 64, state_size: 16, groups: 1, conv_kernel: 4, chunk_size: 64}\n"
    "  l: {type: linear, heads: 4, head_dim: 32}\n"
    "  v: {type: short_conv, channels: 128, conv_kernel: 3}\n"
    "  a: {type: full_attention, query_heads: 4, kv_heads: 2, head_size: 32}\n";

/// A model with these layers, as a file in the folder.
std::string model_file(const ScratchFolder& scratch, const std::string& layers) {
  return scratch.file(layers + ".yaml", kinds + ("layers: \"" + layers) + "\"\n");
}

/// One of a thing, in its plural. Values of several settings have one unit, that of all: "16 | 1 tokens"; and "1 of
/// states" is one id of them.
bool has_wrong_plural(const std::string& text) {
  static const std::regex plural("(^|\\n|[^0-9.,|] )1 (?!of )([a-z_]+ )?(layers|tables|groups|blocks|states|tokens|"
                                 "requests|packs|ranks|ids|pages|stages|copies|pools|heads|runs|rows|slots|cells)\\b");
  static const std::regex wrapped("\\|\\s+");
  return std::regex_search(std::regex_replace(text, wrapped, "|"), plural);
}

/// What a command prints, and the page that `report` writes in the folder.
std::string all_that_is_said(const ProgramRun& run, const ScratchFolder& scratch) {
  return run.output + scratch.content("report/report.md");
}

}  // namespace

TEST_CASE("law: no question about a model without full attention ends in a signal or an internal error") {
  const ScratchFolder scratch;
  for (const char* layers : {"g", "k", "m", "n", "l", "v", "wg"})
    for (const char* engine : {"vllm-2026-06", "vllm-0.33"})
      for (const char* mode : {"none", "align"})
        for (const std::string& question :
             {std::string("simulate --losses --requests 40"),
              fmt::format("plot waterfall --set simulate.trace.max_requests=40 -o {}/{}{}{}", scratch.path.string(),
                          layers, engine, mode),
              std::string("verify --forward"), std::string("boot"), std::string("explain"),
             fmt::format("report --no-verify --force --set simulate.trace.max_requests=40 -o {}/report",
                         scratch.path.string())}) {
          const ProgramRun run = run_program(fmt::format("{} --model {} --memory 64M --max-model-len 4k --engine {} "
                                                         "--mode {}", question, model_file(scratch, layers), engine,
                                                         mode));
          CAPTURE(layers);
          CAPTURE(engine);
          CAPTURE(mode);
          CAPTURE(question);
          const std::string said = all_that_is_said(run, scratch);
          CAPTURE(said);
          CHECK((run.exit_code == 0 || run.exit_code == 3));
          CHECK_FALSE(contains(said, "1,099,511,627,776"));
          CHECK_FALSE(contains(said, "block 0 tokens"));
          CHECK_FALSE(has_wrong_plural(said));
        }
}

TEST_CASE("law: no answer about one layer of each kind gives one of a thing in its plural") {
  const ScratchFolder scratch;
  int answered = 0;
  for (const char* layers : {"a", "ag"})
    for (const char* engine : {"vllm-2026-06", "vllm-0.33", "sglang-0.5.23", "llama.cpp", "tensorrt-llm", "jenga",
                               "compact-slots"})
      for (const std::string& question :
           {std::string("plan --max-model-len 4k"), std::string("plan --max-model-len 1"),
            std::string("explain --max-model-len 40"), std::string("explain --max-model-len 1"),
            std::string("compare --vary engine.tensor_parallel=1,2 --max-model-len 1"),
            std::string("recommend --set simulate.trace.max_requests=20 --max-model-len 4k"),
            std::string("transfer --tokens 1 --max-model-len 1"), std::string("transfer --tokens 3 --max-model-len 1"),
            std::string("transfer --tokens 40 --to-set engine.tensor_parallel=2 --max-model-len 4k"),
            fmt::format("report --no-verify --force --set simulate.trace.max_requests=20 --max-model-len 40 -o "
                        "{}/report", scratch.path.string())}) {
        const ProgramRun run = run_program(fmt::format("{} --model {} --memory 64M --engine {}", question,
                                                       model_file(scratch, layers), engine));
        CAPTURE(layers);
        CAPTURE(engine);
        CAPTURE(question);
        const std::string said = all_that_is_said(run, scratch);
        CAPTURE(said);
        CHECK((run.exit_code == 0 || run.exit_code == 2));
        CHECK_FALSE(has_wrong_plural(said));
        if (run.exit_code == 0) ++answered;
      }
  CHECK(answered > 80);
}

TEST_CASE("golden: no length is too long for states alone, in every format") {
  const ScratchFolder scratch;
  const std::string rest = " --model " + model_file(scratch, "g") + " --memory 64M --max-model-len 4k";
  CHECK(contains(run_program("plan" + rest).output, "a request of any length fits"));
  const std::string json = run_program("plan --format json" + rest).output;
  CHECK(contains(json, "\"max_fitting_tokens\": 1099511627776"));
  CHECK(contains(json, "\"any_length_fits\": true"));
  CHECK_FALSE(contains(run_program("plan --format csv" + rest).output, "1099511627776"));
  CHECK(contains(run_program("boot --format json" + rest).output, "\"max_fitting_tokens\": null"));
  const std::string compared = run_program("compare --vary engine.tensor_parallel=1,2 --format json" + rest).output;
  CHECK(contains(compared, "\"max_fitting_tokens\""));
  CHECK_FALSE(contains(compared, "1099511627776"));
  const std::string simulated = " --requests 20 --format json" + rest;
  CHECK(contains(run_program("simulate" + simulated).output, "\"longest_request\": null"));
  CHECK_FALSE(contains(run_program("plan --format json --model " + model_file(scratch, "ag") +
                                   " --memory 64M --max-model-len 4k").output, "any_length_fits"));
}

TEST_CASE("fault: a plural of one is seen") {
  CHECK(has_wrong_plural("attention  1 full_attention layers, 2 KV heads"));
  CHECK(has_wrong_plural("file: holds 1 tables"));
  CHECK(has_wrong_plural("g = 1 pages per group"));
  CHECK(has_wrong_plural("block\n1 tokens, kernel block 1"));
  CHECK_FALSE(has_wrong_plural("21 layers, N = 1, 1 layer"));
  CHECK_FALSE(has_wrong_plural("block: 16 | 1 tokens, 32 |\n    1 tokens"));
  CHECK_FALSE(has_wrong_plural("4: 3 of tokens, 1 of states that chunks export"));
}
