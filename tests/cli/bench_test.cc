#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"

using namespace hybridkv::testing;

namespace {

const std::string quick = "bench --query-heads 4 --kv-heads 2 --head-size 16 --block-size 16 --min-time 0 ";

}  // namespace

TEST_CASE("law: bench makes the product of its lists, checks every row and measures the machine beside it") {
  const ProgramRun run = run_program(quick + "--batch q8,2q1s40 --backend unified,paged --pack 1,3 --format json");
  REQUIRE(run.exit_code == 0);
  const auto json = nlohmann::json::parse(run.output);
  CHECK(json.at("schema") == "hybridkv-bench/2");
  REQUIRE(json.at("rows").size() == 8);
  for (const auto& row : json.at("rows")) {
    CHECK(row.at("correct") == true);
    CHECK(row.at("best_seconds") > 0);
    CHECK(row.at("read_gbytes_per_second") > 0);
    CHECK(row.at("peak_gflops_per_second") > 0);
    CHECK(row.at("roofline_ratio") > 0);
    CHECK(row.at("kernel_block_size_tokens") == 16);
  }
  for (const char* table : {"peaks", "reads"}) CHECK(json.at(table).size() > 1);
  CHECK(json.at("rows").at(0).at("batch") == "q8");
  CHECK(json.at("rows").at(0).at("kv_bytes") == 8 * 2 * 32 * 2);
  CHECK(json.at("rows").at(7).at("attention_pack_size") == 3);
}

TEST_CASE("law: bench of a scenario takes the layer of its plan, for every pack") {
  const ProgramRun run = run_program("bench qwen3.5-397b --pack 1,5 --batch q2s20 --min-time 0 --format csv");
  REQUIRE(run.exit_code == 0);
  CHECK(contains(run.output, "q2s20,paged,1,2096,2096,paged,nhd,bf16,16,1,256,256,0,1,"));
  CHECK(contains(run.output, "q2s20,paged,5,432,432,paged,nhd,bf16,16,1,256,256,0,1,"));
}

TEST_CASE("edge: the reference is timed too, on the one thread that it has") {
  const ProgramRun run = run_program(quick + "--batch q8 --backend reference --threads 1 --format csv");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "q8,reference,1,16,16,paged,nhd,bf16,4,2,16,16,"));
}

TEST_CASE("edge: what bench refuses, with what would work") {
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"--batch 3x", "column 2: expected a number of requests or 'q'"},
           {"--batch small_decod", "no batch is called that; take one of small_decode"},
           {"--dtype fp12", "--dtype fp12: no such value; take one of fp32, fp16, bf16"},
           {"--backend flash", "--backend flash: no such value; take one of reference, unified, cascade"},
           {"--threads 0", "--threads: 0 is out of bounds; allowed: whole numbers from 1"},
           {"--backend reference --threads 2", "backend reference runs on one thread"},
           {"--pack 0", "--pack 0: 0 must be from 1 to 65536 layers"},
           {"--pack 3..1", "runs backwards"},
           {"--form mla", "form mla keeps one latent per token, which is one KV head, not 2"},
           {"--kernel-block-size 5", "a kernel block of 5 tokens does not divide the block of 16 tokens"},
           {"--backend cascade --window 8 --batch q8", "backend cascade does not support sliding_window"}})
    require_refused(quick + arguments, message);
  require_refused(quick + "--batch 100000q1s1000k", 3, "of resident memory, but the budget is");
}
