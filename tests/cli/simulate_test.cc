// `simulate` from outside.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/trace/trace_file.h"
#include "test_paths.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::run_program;
using testing::ScratchFolder;
using testing::text_of;
namespace fs = std::filesystem;

namespace {

const std::string invented = HYBRIDKV_TEST_DATA "/simulator/invented/";

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

nlohmann::json replayed(const std::string& arguments) {
  const ProgramRun run = run_program("simulate " + arguments + " --quiet --format json");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.output);
}

/// Rows that --per-request writes.
std::string rows_of(const std::string& arguments) {
  const ScratchFolder folder;
  const std::string rows = (folder.path / "rows.csv").string();
  const ProgramRun run = run_program("simulate " + arguments + " --quiet --per-request '" + rows + "'");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  return text_of(rows);
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
  const nlohmann::json report = replayed("qwen3.5-397b --pack 1,3 --requests 300 --upper-bounds");
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
  CHECK(replayed("--block-size 256,512 --num-blocks 500,1000 --mode align,all --state-groups 1 --requests 50")
            .at("caches").size() == 8);
  const ProgramRun replayed = run_program("simulate --block-size 528 --num-blocks 9000 --state-groups 1 --requests 50");
  CHECK(contains(replayed.output, "All of this follows rules that were checked against a real engine"));
  const ProgramRun loop = run_program(
      "simulate --block-size 528 --num-blocks 9000 --state-groups 1 --requests 50 --driver open-loop");
  CHECK(contains(loop.output, "Modelled, not replayed from a real engine: decode"));
  CHECK(contains(loop.output, "first token"));
}

TEST_CASE("golden: published numbers, from the scenarios that ship") {
  const auto hits = [](const nlohmann::json& cache) {
    std::vector<double> rates;
    for (const auto& request : cache.at("per_request"))
      rates.push_back(std::round(request.at("hit_tokens").get<double>() /
                                 request.at("input_length").get<double>() * 1000) / 1000);
    return rates;
  };
  const nlohmann::json copies = replayed("prefix-copies");
  REQUIRE(copies.at("caches").size() == 2);
  for (const auto& [cache, block, percent] : {std::tuple{0, 1056, 52.62}, std::tuple{1, 272, 94.88}}) {
    CHECK(copies.at("caches")[cache].at("block_size_tokens") == block);
    CHECK(std::round(1e4 * copies.at("caches")[cache].at("hit_rate").get<double>()) / 100 == doctest::Approx(percent));
    CHECK(copies.at("caches")[cache].at("modelled") == "");
  }
  const nlohmann::json second = replayed("prefix-second-copies").at("caches")[0];
  CHECK(second.at("block_size_tokens") == 528);
  CHECK(hits(second) == std::vector<double>{0, 0.957, 0, 0.539});
  const nlohmann::json boundary = replayed("prefix-block-boundary").at("caches")[0];
  CHECK(boundary.at("block_size_tokens") == 1024);
  CHECK(hits(boundary) == std::vector<double>{0, 0, 0, 0.999, 0, 0.5});
  const nlohmann::json checkpoints = replayed("prefix-checkpoints").at("caches")[0];
  CHECK(checkpoints.at("per_request")[0].at("num_chunks") == 3);
  CHECK(checkpoints.at("per_request")[1].at("hit_tokens") == 1584);
  CHECK(checkpoints.at("per_request")[2].at("hit_tokens") == 0);
  CHECK(contains(run_program("simulate prefix-checkpoints").output, "1,584, 2,112"));
  const nlohmann::json long_block = replayed("prefix-long-block").at("caches")[0];
  CHECK(long_block.at("block_size_tokens") == 8320);
  CHECK(long_block.at("requests") == 10608);
  CHECK(long_block.at("requests_with_hit") == 0);
}

TEST_CASE("golden: with the null block a pool of 69 blocks ends requests of up to 1008 of 1024 tokens") {
  const nlohmann::json cache = replayed("null-block-ceiling").at("caches")[0];
  CHECK(cache.at("num_blocks") == 69);
  CHECK(cache.at("longest_request") == 1008);
  CHECK(cache.at("per_request")[0].at("status") == "ok");
  CHECK(cache.at("per_request")[1].at("status") == "stalled");
}

TEST_CASE("edge: what makes rates misleading is said beside them") {
  CHECK(contains(run_program("simulate --block-size 16 --num-blocks 4 --requests 20").output,
                 "20 requests do not fit the pool even alone (it holds 48 tokens of one)"));
  const std::string asked = "simulate --model Qwen3.5-4B --memory 10GiB --max-model-len 8192 --requests 20";
  CHECK(contains(run_program(asked + " --mode none").output,
                 "mode none keeps no states, so no prefix is ever found"));
  CHECK_FALSE(contains(run_program(asked).output, "mode none"));  // which is no default of today's release
}

TEST_CASE("edge: flags win over the scenario, and say so where they are wrong") {
  CHECK(replayed("prefix-copies --pack 4 --requests 10").at("requests") == 10);
  CHECK(replayed("prefix-copies --driver closed-loop").at("driver") == "closed_loop");
  CHECK(replayed("prefix-copies --trace '" + invented + "mooncake.jsonl'").at("trace") == "mooncake.jsonl");
  const nlohmann::json fine = replayed("prefix-copies --pack 4 --set simulate.match_unit_tokens=16").at("caches")[0];
  CHECK(fine.at("match_unit_tokens") == 16);
  const nlohmann::json base = replayed("prefix-checkpoints");
  CHECK(base.at("caches")[0].at("per_request")[0].at("num_chunks") == 3);
  const nlohmann::json wide = replayed("prefix-checkpoints --max-batched-tokens 8192");
  CHECK(wide.at("caches")[0].at("per_request")[0].at("num_chunks") == 2);
}

TEST_CASE("law: loads from the host take time by its bandwidth, 50 GB a second unless another is given") {
  const std::string question = "qwen3.5-397b --pack 5 --memory 4G --requests 600 --host-memory 16G";
  const nlohmann::json usual = replayed(question).at("caches")[0].at("host");
  const nlohmann::json half = replayed(question + " --host-bandwidth 25").at("caches")[0].at("host");
  CHECK(usual.at("bytes_per_second").get<double>() == 50e9);
  CHECK(half.at("bytes_per_second").get<double>() == 25e9);
  CHECK(half.at("loaded_bytes") == usual.at("loaded_bytes"));
  REQUIRE(usual.at("load_seconds").get<double>() > 0);
  CHECK(half.at("load_seconds").get<double>() == doctest::Approx(2 * usual.at("load_seconds").get<double>()));
}

TEST_CASE("edge: policies by name, said in the answer, the default unsaid") {
  const std::string question = "qwen3.5-397b --pack 5 --memory 4G --requests 600";
  const nlohmann::json plain = replayed(question).at("caches")[0];
  CHECK(!plain.contains("eviction"));
  const nlohmann::json worth = replayed(question + " --eviction worth").at("caches")[0];
  CHECK(worth.at("eviction") == "worth");
  CHECK(worth.at("checkpoint_back") == 0);
  CHECK(worth.at("hit_tokens") > plain.at("hit_tokens"));
  CHECK(worth.at("modelled") == "eviction policy");
  CHECK(replayed(question + " --eviction second-chance").at("caches")[0].at("eviction") == "second_chance");
  const nlohmann::json back = replayed(question + " --checkpoint-back 2").at("caches")[0];
  CHECK(back.at("eviction") == "lru");
  CHECK(back.at("checkpoint_back") == 2);
  CHECK(contains(run_program("simulate " + question + " --eviction cost").output, "policy  evicts by cost"));
}

TEST_CASE("edge: a policy that is misspelt, or has nothing to order, is refused") {
  const auto refused = [](const std::string& arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program("simulate " + arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("qwen3.5-397b --pack 5 --eviction wort", "did you mean 'worth'?");
  refused("--block-size 16 --num-blocks 100 --eviction worth", "ranks prefixes by their states");
  refused("qwen3.5-397b --engine sglang-0.5.23 --pack 1 --eviction worth", "policies are tried on pools of blocks");
  refused("qwen3.5-397b --engine vllm-0.33 --pack 1 --checkpoint-back 1", "by the rules of vllm-2026-06 alone");
}

TEST_CASE("edge: a watermark admits fewer requests at a time, a threshold cuts prompts into more chunks") {
  const std::string question =
      "--block-size 16 --num-blocks 200 --prompt-tokens 800 --shared-prefix-tokens 16 --requests 8 --driver open-loop";
  const nlohmann::json plain = replayed(question).at("caches")[0];
  CHECK(plain.at("max_running") == 4);
  CHECK(plain.at("per_request")[0].at("num_chunks") == 1);
  CHECK(replayed(question + " --set simulate.watermark=0.5").at("caches")[0].at("max_running") == 2);
  const nlohmann::json cut = replayed(question + " --set simulate.long_prefill_threshold_tokens=100").at("caches")[0];
  CHECK(cut.at("per_request")[0].at("num_chunks") == 8);
}

TEST_CASE("edge: bad values of the section simulate have their place") {
  const auto refused = [](const std::string& arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program("simulate " + arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  const std::string file = HYBRIDKV_TEST_DATA "/scenarios/bad_simulate.yaml";
  refused("'" + file + "'", "bad_simulate.yaml:8:22: simulate.match_unit_tokens: 100 does not divide the block of 576");
  refused("'" + file + "' --match-unit 16",
          "bad_simulate.yaml:12:37: simulate.trace.prompts[1].shared_tokens: must be 0 to 10, is 11");
  refused("prefix-copies --match-unit 100", "--match-unit 100: simulate.match_unit_tokens: 100 does not divide");
  refused("prefix-copies --max-batched-tokens 100", "--max-batched-tokens 100: engine.max_num_batched_tokens: ");
  refused("prefix-copies --seed 3", "--seed 3: simulate.trace: prompts and synthetic name two traces");
  refused("qwen3.5-397b --set simulate.trace.synthetic.chat_weight=0 --set simulate.trace.synthetic.agent_weight=0 "
          "--set simulate.trace.synthetic.retrieval_weight=0",
          "simulate.trace.synthetic.chat_weight: all weights are 0");
  refused("qwen3.5-397b --state-groups 2", "--state-groups belongs to --block-size");
  refused("--block-size 528 --num-blocks 100 --tp 2", "--tp belongs to a plan");
  refused("--block-size 528 --num-blocks 100 --set engine.tensor_parallel=2", "takes only keys of simulate");
  refused("--block-size 528 --num-blocks 1", "--num-blocks: must be 2 to");
}

TEST_CASE("edge: bad flags and files are one message, exit code 2") {
  const auto refused = [](const std::string& arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program("simulate " + arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("", "no cache to simulate: name a SCENARIO");
  refused("--block-size 528 --num-blocks 100 --trace /dev/null", "/dev/null: the trace holds no request");
  refused("--block-size 528", "give both, or a scenario");
  refused("--block-size 528 --num-blocks 100 qwen3.5-397b", "leave out the scenario");
  refused("--block-size 528 --num-blocks 100 --mode some", "--mode some: no such cache mode");
  refused("qwen3.5-397b --mode none,align", "several values make a sweep");
  refused("--block-size 528 --num-blocks 100 --trace nowhere.jsonl", "nowhere.jsonl");
  refused("--block-size 528,272 --num-blocks 100 --per-request x.csv", "writes the requests of one cache, here are 2");
  refused("--block-size 528 --num-blocks 1000 --state-groups 1 --max-batched-tokens 100",
          "--max-batched-tokens: mode align cuts chunks to whole blocks: a budget of 100 below the block of 528");
  refused("--block-size 528 --num-blocks 1000 --match-unit 100", "match_unit");
}

TEST_CASE("golden: --losses says where the tokens went, of every request too") {
  const std::string trace =
      "--block-size 256 --num-blocks 60 --state-groups 1 --trace '" + invented + "mooncake.jsonl'";
  const nlohmann::json cache = replayed(trace + " --losses --upper-bounds")["caches"][0];
  const nlohmann::json& losses = cache["losses"];
  CHECK(losses["token_exact_tokens"] == cache["token_exact_hit_tokens"]);
  CHECK(losses["found_tokens"] == cache["hit_tokens"]);
  std::int64_t lost = 0;
  for (const auto& [cause, tokens] : losses["lost"].items()) lost += tokens.get<std::int64_t>();
  CHECK(lost > 0);
  CHECK(losses["token_exact_tokens"] == losses["found_tokens"].get<std::int64_t>() + lost);

  std::istringstream rows(rows_of(trace + " --losses"));
  std::string line;
  std::getline(rows, line);
  CHECK(line == "idx,input_length,hit_tokens,num_chunks,evictions,status,token_exact_tokens,lost_block_tail,"
                "lost_last_token,lost_no_state,lost_dropped,lost_state_evicted,lost_kv_evicted,lost_other_group,"
                "lost_too_late,lost_no_memory");
  std::int64_t exact = 0;
  while (std::getline(rows, line)) {
    std::vector<std::string> fields;
    std::istringstream cells(line);
    for (std::string field; std::getline(cells, field, ',');) fields.push_back(field);
    REQUIRE(fields.size() == 16);
    std::int64_t sum = std::stoll(fields[2]);
    for (std::size_t cause = 7; cause < fields.size(); ++cause) sum += std::stoll(fields[cause]);
    CHECK(std::stoll(fields[6]) == sum);
    exact += std::stoll(fields[6]);
  }
  CHECK(losses["token_exact_tokens"] == exact);
}
