// `simulate` from outside.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "simulator/trace_file.h"
#include "tests/cli/run_program.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::run_program;
namespace fs = std::filesystem;

namespace {

const std::string invented = HYBRIDKV_TEST_DATA "/simulator/invented/";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The published rows without their fifth column, which --per-request does not write.
std::string published(const fs::path& path) {
  std::istringstream lines(text_of(path));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    std::size_t first = 0;
    for (int comma = 0; comma < 4; ++comma) first = line.find(',', first) + 1;
    text += line.erase(first, line.find(',', first) + 1 - first) + "\n";
  }
  return text;
}

nlohmann::json json_of(const std::string& arguments) {
  const ProgramRun run = run_program("simulate " + arguments + " --quiet --format json");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.output);
}

/// Rows that --per-request writes.
std::string rows_of(const std::string& arguments) {
  const fs::path path = fs::temp_directory_path() / ("hybridkv-rows-" + std::to_string(::getpid()) + ".csv");
  const ProgramRun run = run_program("simulate " + arguments + " --quiet --per-request '" + path.string() + "'");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  const std::string text = text_of(path);
  fs::remove(path);
  return text;
}

}  // namespace

TEST_CASE("golden: per-request rows of invented traces, in every form they come in") {
  for (const char* file : {"mooncake.jsonl", "mooncake.jsonl.gz", "mooncake.jsonl.zst"})
    CHECK(rows_of("--block-size 512 --num-blocks 100 --trace '" + invented + file + "'") ==
          published(invented + "full_bs512.csv"));
}

TEST_CASE("golden: per-request rows equal a replay of the published trace") {
  const auto trace = find_trace("mooncake_conversation.jsonl", HYBRIDKV_SOURCE_DIR);
  if (!trace) {
    MESSAGE("SKIPPED: mooncake_conversation.jsonl is not there; set HYBRIDKV_TRACE_DIR");
    return;
  }
  CHECK(rows_of("--block-size 528 --num-blocks 2000 --state-groups 1 --mode align --max-batched-tokens 8192 --requests "
                "2000 --trace '" + *trace + "'") ==
        published(HYBRIDKV_TEST_DATA "/simulator/replay/replay_conversation_2000_align_bs528_pool2000_g1.csv"));
}

TEST_CASE("edge: packs of a scenario share one trace, finer blocks hit more, nothing hits more than token by token") {
  const nlohmann::json report = json_of("qwen3.5-397b --pack 1,3 --requests 300 --upper-bounds");
  REQUIRE(report.at("caches").size() == 2);
  const auto& coarse = report.at("caches")[0];
  const auto& fine = report.at("caches")[1];
  CHECK(coarse.at("name") == "N = 1");
  CHECK(coarse.at("block_size_tokens") == 2096);
  CHECK(fine.at("block_size_tokens") == 704);
  CHECK(fine.at("hit_tokens") > coarse.at("hit_tokens"));
  CHECK(fine.at("token_exact_hit_tokens") >= fine.at("unlimited_hit_tokens"));
  CHECK(!fine.at("series").empty());
}

TEST_CASE("edge: lists make a product, drivers say what is modelled") {
  CHECK(json_of("--block-size 256,512 --num-blocks 500,1000 --mode align,all --state-groups 1 --requests 50")
            .at("caches").size() == 8);
  const ProgramRun replayed = run_program("simulate --block-size 528 --num-blocks 9000 --state-groups 1 --requests 50");
  CHECK(contains(replayed.output, "Every rule in play is one that replays of a real engine cover"));
  const ProgramRun loop = run_program(
      "simulate --block-size 528 --num-blocks 9000 --state-groups 1 --requests 50 --driver open-loop");
  CHECK(contains(loop.output, "Modelled, not replayed from a real engine: decode"));
  CHECK(contains(loop.output, "first token"));
}

TEST_CASE("edge: bad flags and files are one message, exit code 2") {
  const auto refused = [](const std::string& arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program("simulate " + arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("--block-size 528", "give both, or a scenario");
  refused("--block-size 528 --num-blocks 100 qwen3.5-397b", "leave out the scenario");
  refused("--block-size 528 --num-blocks 100 --mode some", "--mode some: no such cache mode");
  refused("qwen3.5-397b --mode all", "a scenario has engine.cache_mode");
  refused("--block-size 528 --num-blocks 100 --trace nowhere.jsonl", "nowhere.jsonl");
  refused("--block-size 528,272 --num-blocks 100 --per-request x.csv", "writes the requests of one cache, here are 2");
  refused("--block-size 528 --num-blocks 1000 --state-groups 1 --max-batched-tokens 100", "max_num_batched_tokens");
  refused("--block-size 528 --num-blocks 1000 --match-unit 100", "match_unit");
}
