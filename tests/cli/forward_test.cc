// `verify --forward` from outside.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "verify/forward/forward_fault.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::run_program;

namespace {

/// Plants every fault of the engine in turn: these are found, and there are no others.
void check_all_caught(const std::string& forward, const std::vector<const char*>& faults) {
  const ProgramRun all = run_program(forward + "--inject all");
  CAPTURE(all.output);
  CHECK(all.exit_code == 0);
  for (const char* fault : faults)
    CHECK(contains(all.output, std::string("The planted fault ") + fault + " was found"));
  const std::string count = std::to_string(faults.size());
  CHECK(all.output.ends_with("\n" + count + " of " + count + " caught\n"));
}

}  // namespace

TEST_CASE("law: every shipped model, scaled down, computes through its pages what it computes without them") {
  const ProgramRun run =
      run_program("verify --forward --all-models --engine vllm-2026-06 --pack 3 --quiet --format json");
  REQUIRE(run.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.output);
  CHECK(report.at("passed") == true);
  std::size_t passed = 0;
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    CHECK((result.at("status") == "passed" || result.at("status") == "does not apply"));
    passed += result.at("status") == "passed";
    // The layout is proven through the backend that users run as well; a cascade needs a layer without a window, which
    // RecurrentGemma alone has not, and without attention there is no backend.
    const auto model = result.at("model").get<std::string>();
    const bool no_cascade = model.starts_with("RecurrentGemma");
    const bool no_attention = model == "Falcon-Mamba-7B" || model == "Mamba-Codestral-7B-v0.1" ||
                              model == "RWKV-4-7B-pile" || model == "xLSTM-7B";
    if (result.at("status") == "passed")
      CHECK(result.at("backends") == (no_attention ? "" : no_cascade ? "unified, paged" : "unified, cascade, paged"));
    CHECK(result.at("backend_difference") < 0.5);
  }
  CHECK(passed >= 20 * 28);
}

TEST_CASE("edge: a forward pass in a table, with what took place") {
  const ProgramRun run = run_program("verify --forward qwen3.5-397b --pack 5 --quiet");
  CHECK(run.exit_code == 0);
  CAPTURE(run.output);
  for (const char* part : {"Qwen3.5-397B-A17B, N = 5", "60 layers with a cache", "shared-prefix", "does not apply",
                           "unified, cascade, paged on every batch of a layer; they differ by at most",
                           "Through the pages every output equals that of the same network run dense and unpaged."})
    CHECK(contains(run.output, part));
}

TEST_CASE("fault: every fault of an engine is found, by how much is said, and the last line counts") {
  const ProgramRun run = run_program("verify --forward qwen3.5-397b --pack 3 --inject all --quiet");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  for (const char* fault : {"skip-zeroing", "missed-page-copy", "missed-state-copy", "wrong-accepted", "wrong-prefix",
                            "no-recompute"}) {
    CHECK(contains(run.output, fault));
    CHECK(contains(run.output, std::string("The planted fault ") + fault + " was found"));
  }
  CHECK(contains(run.output, "The planted fault early-release has no place here"));
  CHECK(run.output.ends_with("\n6 of 6 caught\n"));
}

TEST_CASE("fault: a single fault has exit code 1 where it was found, 5 where it has no place") {
  const ProgramRun found = run_program("verify --forward qwen3.5-397b --pack 3 --inject wrong-prefix --quiet");
  CHECK(found.exit_code == 1);
  CHECK(contains(found.output, "times the bound"));
  const ProgramRun without = run_program("verify --forward qwen3.5-397b --pack 3 --inject early-release --quiet");
  CHECK(without.exit_code == 5);
  CHECK(contains(without.output, "no layer has a window or chunk"));
}

TEST_CASE("golden: the help describes every fault of a forward pass once, below what the first of its ways is called") {
  const std::string help = run_program("verify --help").output;
  for (const ForwardFaultInfo& info : all_forward_faults()) {
    CAPTURE(info.name);
    // The explanation of a long name begins in the next line.
    const std::string name = "\n  " + std::string(info.name);
    const std::size_t at = std::min(help.find(name + " "), help.find(name + "\n"));
    REQUIRE(at != std::string::npos);
    CHECK(std::min(help.find(name + " ", at + 1), help.find(name + "\n", at + 1)) == std::string::npos);
    const std::string way = info.paths.blocks    ? "also:"
                            : info.paths.exports ? "by the rules of "
                            : info.paths.tree    ? "through a radix tree "
                            : info.paths.slots   ? "through the slots of a server "
                                                 : "through a tree with snapshots ";
    const std::string heading = "\nWith --forward ";
    CHECK(help.compare(help.rfind(heading, at) + heading.size(), way.size(), way) == 0);
  }
}

TEST_CASE("edge: flags of forward passes that cannot be") {
  const auto refused = [](const char* arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("verify --forward qwen3.5-397b --case nothing", "--case nothing: no such case; take one of shared-prefix");
  refused("verify --forward qwen3.5-397b --case resum", "--case resum: no such case");
  refused("verify --forward qwen3.5-397b --scale 0", "--scale: is 0, but a scale divides");
  refused("verify --forward --all-models --model Qwen3.5-4B", "--all-models runs every shipped model");
  refused("verify qwen3.5-397b --all-models", "--all-models and --case belong to --forward");
  refused("verify --forward qwen3.5-397b --export somewhere", "leave out --forward");
  refused("verify --forward qwen3.5-397b --inject gremlin", "--inject gremlin: no such fault");
  // Of forward passes alone, as drafts have no place in a layout.
  refused("verify --forward qwen3.5-397b --inject wrong-accept", "did you mean 'wrong-accepted'");
  refused("verify --forward qwen3.5-397b --pack 3 --inject padded-split", "the views leave the pool");
}

TEST_CASE("law: a network runs through the tree of SGLang 0.5.23 with every strategy, and what is whose is said") {
  const ProgramRun run =
      run_program("verify --forward qwen3.5-397b --pack 1 --engine sglang-0.5.23 --quiet --format json");
  REQUIRE(run.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.output);
  CHECK(report.at("passed") == true);
  CHECK(report.at("results").size() == 5 * 8);
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    CHECK(result.at("status") == "passed");
    CHECK(result.at("backends") == "unified, cascade, paged");
    CHECK((result.at("block_size_tokens") == 1 || result.at("strategy") != "no_buffer"));
  }
  const ProgramRun table = run_program(
      "verify --forward --model Qwen3.5-0.8B --memory 2GiB --max-model-len 4096 --engine sglang-0.5.23 --quiet");
  CAPTURE(table.output);
  CHECK(table.exit_code == 0);
  for (const char* part : {"extra_buffer_lazy, page 16", "tombstone", "decode-state", "reused",
                           "one request at a time; order of match, chunks, tracking, insertion and eviction",
                           "SGLang 0.5.23, run; pools, tensors and copies: modelled",
                           "pages of 1 and 16 tokens, states every 16 and 16 of a prompt"})
    CHECK(contains(table.output, part));
  for (const char* part : {"preemption", "drafts", "does not apply"}) CHECK_FALSE(contains(table.output, part));
}

TEST_CASE("law: of all shipped models those run that the release plans, at N = 1") {
  const std::string asked = "verify --forward --all-models --engine sglang-0.5.23 --case tombstone --scale 64 --quiet ";
  const ProgramRun run = run_program(asked + "--format json 2>/dev/null");
  REQUIRE(run.exit_code == 0);
  std::size_t models = 0;
  const nlohmann::json report = nlohmann::json::parse(run.output);
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    CHECK(result.at("status") == "passed");
    CHECK(result.at("attention_pack_size") == 1);
    models += result.at("strategy") == "no_buffer";
  }
  CHECK(models >= 30);
}

TEST_CASE("fault: every fault of an engine with a radix tree is found from outside, and names of others are refused") {
  const std::string forward =
      "verify --forward --model Qwen3.5-0.8B --memory 2GiB --max-model-len 4096 --engine sglang-0.5.23 --quiet ";
  check_all_caught(forward, {"skip-zeroing", "shared-state-slot", "wrong-tracking-slot", "wrong-state-token",
                            "stale-rows", "freed-rows", "tombstone-slot", "neighbour-state"});
  CHECK(run_program(forward + "--inject tombstone-slot").exit_code == 1);
  CHECK(run_program(forward + "--set engine.mamba_radix_cache_strategy=no_buffer --inject stale-rows").exit_code == 1);
  CHECK(run_program(forward + "--set engine.mamba_radix_cache_strategy=no_buffer --inject wrong-tracking-slot")
            .exit_code == 5);
  const auto refused = [&](const std::string& more, const char* message) {
    const ProgramRun run = run_program(forward + more);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("--inject tombston-slot", "did you mean 'tombstone-slot'?");
  refused("--inject wrong-prefix", "go through a radix tree, which has no such fault");
  refused("--case preemption", "go through a radix tree, which has no such case");
  refused("--pack 3", "engine.attention_pack_size");
}

TEST_CASE("law: a network runs through the slots of llama.cpp in both modes, and what is whose is said") {
  const std::string forward =
      "verify --forward --model Qwen3.5-0.8B --memory 2GiB --max-model-len 4096 --engine llama.cpp --quiet ";
  const ProgramRun run = run_program(forward + "--format json");
  REQUIRE(run.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.output);
  CHECK(report.at("passed") == true);
  CHECK(report.at("results").size() == 2 * 10);
  std::size_t passed = 0;
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    passed += result.at("status") == "passed";
    CHECK(result.at("block_size_tokens") == 1);
    if (result.at("status") == "passed") CHECK(result.at("backends") == "unified, cascade, paged");
  }
  CHECK(passed == 5 + 10);
  const ProgramRun table = run_program(forward);
  CAPTURE(table.output);
  CHECK(table.exit_code == 0);
  for (const char* part : {"cells of one token", "rows of states, and checkpoints, of", "KiB; steps of 16",
                           "slots: llama.cpp, run; pools, tensors and copies: modelled",
                           "resume, branch, chunks, one-past (mode none): does not apply, no checkpoint is made",
                           "saved-prompts (mode none): does not apply, no prompt is saved on the host"})
    CHECK(contains(table.output, part));
}

TEST_CASE("law: of all shipped models those run through slots that llama.cpp's rules plan, at N = 1") {
  const ProgramRun run = run_program(
      "verify --forward --all-models --engine llama.cpp --case branch --scale 64 --quiet --format json 2>/dev/null");
  REQUIRE(run.exit_code == 5);  // slots with windows are not run, which RecurrentGemma alone has beside states
  std::size_t models = 0;
  const nlohmann::json report = nlohmann::json::parse(run.output);
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    const bool has_windows = result.at("model").get<std::string>().starts_with("RecurrentGemma");
    if (has_windows) CHECK(result.at("status") == "does not apply");
    if (has_windows) continue;
    CHECK(result.at("status") == (result.at("mode") == "align" ? "passed" : "does not apply"));
    CHECK(result.at("attention_pack_size") == 1);
    models += result.at("mode") == "align";
  }
  CHECK(models >= 37);
}

TEST_CASE("fault: every fault of a tree with snapshots is found from outside, and names of others are refused") {
  const std::string forward = "verify --forward --model Qwen3.5-0.8B --memory 8GiB --max-model-len 4096 --engine "
                              "tensorrt-llm --set engine.max_batch_size=4 --quiet ";
  check_all_caught(forward, {"skip-zeroing", "missed-page-copy", "shared-state-slot", "wrong-state-token",
                            "stale-checkpoint", "foreign-snapshot", "lost-pages"});
  CHECK(run_program(forward + "--inject lost-pages").exit_code == 1);
  CHECK(run_program(forward + "--set engine.enable_partial_reuse=false --inject missed-page-copy").exit_code == 5);
  const ProgramRun refused = run_program(forward + "--inject early-release");
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "go through a tree with snapshots, which has no such fault"));
  CHECK(contains(run_program("verify --help").output,
                 "With --forward through a tree with snapshots (tensorrt-llm)\n"));
}

TEST_CASE("fault: every fault of a server with slots is found from outside, and names of others are refused") {
  const std::string forward =
      "verify --forward --model Qwen3.5-0.8B --memory 2GiB --max-model-len 4096 --engine llama.cpp --quiet ";
  check_all_caught(forward, {"skip-zeroing", "wrong-accepted", "wrong-state-token", "missed-restore",
                            "older-checkpoint", "stale-checkpoint", "foreign-cell", "restored-stale-checkpoint",
                            "state-of-another-checkpoint", "lost-saved-state"});
  CHECK(run_program(forward + "--inject stale-checkpoint").exit_code == 1);
  CHECK(run_program(forward + "--set engine.ctx_checkpoints=0 --inject stale-checkpoint").exit_code == 5);
  const ProgramRun refused = run_program(forward + "--inject tombstone-slot");
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "go through the slots of a server, which has no such fault"));
  CHECK(contains(run_program("verify --help").output,
                 "With --forward through the slots of a server (llama.cpp)\n"
                 "skip-zeroing, wrong-accepted, wrong-state-token, and:\n"));
}

TEST_CASE("law: what is allowed is what a sequence makes of rounding, also where little is left of a head") {
  for (const std::string question :
       {"example --case fresh-blocks", "--model Qwen3-Next-80B-A3B --engine sglang-0.5.23 --scale 32 "
                                       "--case fresh-blocks --memory 40GiB --max-model-len 32k"}) {
    CAPTURE(question);
    const ProgramRun run = run_program("verify --forward " + question + " --quiet");
    CAPTURE(run.output);
    CHECK(run.exit_code == 0);
    // And no more than that: what is planted is found.
    CHECK(run_program("verify --forward " + question + " --inject skip-zeroing --quiet").exit_code == 1);
  }
}

TEST_CASE("fault: exports, junctions, fine hits and lookahead of 0.33 run by its rules; their faults are found") {
  const std::string forward = "verify --forward qwen3.5-397b --pack 1 --engine vllm-0.33 --quiet ";
  const ProgramRun table = run_program(forward);
  CAPTURE(table.output);
  CHECK(table.exit_code == 0);
  CHECK(contains(table.output, "chunks, columns of states, keys and what is kept: vLLM 0.33.0"));
  const ProgramRun run = run_program(forward + "--format json");
  REQUIRE(run.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.output);
  std::vector<std::string> passed;
  for (const auto& result : report.at("results"))
    if (result.at("mode") == "align" && result.at("status") == "passed") passed.push_back(result.at("case"));
  for (const char* name : {"export", "fine-export", "junction", "lookahead"})
    CHECK(std::find(passed.begin(), passed.end(), name) != passed.end());
  const ProgramRun all = run_program(forward + "--inject all");
  CAPTURE(all.output);
  CHECK(all.exit_code == 0);
  for (const char* fault : {"wrong-export-column", "late-export", "foreign-junction", "short-keys"})
    CHECK(contains(all.output, std::string("The planted fault ") + fault + " was found"));
}
