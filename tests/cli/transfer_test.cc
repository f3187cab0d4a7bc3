#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/require_refused.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
using nlohmann::json;

namespace {

const std::string small_move =
    "--model Qwen3.5-0.8B --engine vllm-2026-06 --memory 1G --max-model-len 4k --mode align ";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::int64_t count_lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("golden: one rank to two; the other side is this one with what is laid over it") {
  const ProgramRun run = run_program("transfer " + small_move + "--to-set engine.tensor_parallel=2 --tokens 1k");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "Qwen3.5-0.8B: a cache of 1,024 tokens from 1 rank to 2 ranks"));
  const json all = json::parse(
      run_program("transfer " + small_move + "--to-set engine.tensor_parallel=2 --tokens 1k --format json").output);
  CHECK(all["tokens"] == 1024);
  CHECK(all["from"]["tensor_parallel"] == 1);
  CHECK(all["to"]["tensor_parallel"] == 2);
}

TEST_CASE("golden: a destination of its own takes no flag of the source") {
  const ScratchFolder folder;
  const std::string to = (folder.path / "decode.yaml").string();
  std::ofstream(to) << "model: Qwen3.5-0.8B\nengine: {release: vllm-2026-06, memory: 1 GiB, cache_mode: align}\n"
                       "limits: {max_model_len: 4096}\n";
  const ProgramRun run = run_program("transfer qwen3.5-397b " + to + " -q");
  CHECK(run.exit_code == 2);
  CHECK(contains(run.output, "to.model: is Qwen3.5-0.8B, and the model of qwen3.5-397b is Qwen3.5-397B-A17B"));
  std::ofstream(folder.path / "prefill.yaml")
      << "model: Qwen3.5-0.8B\nengine: {release: vllm-2026-06, memory: 1 GiB, cache_mode: align}\n"
         "limits: {max_model_len: 4096}\n";
  const json all = json::parse(run_program("transfer " + (folder.path / "prefill.yaml").string() + " " + to +
                                           " --tp 2 --set engine.physical_order=hnd --to-set "
                                           "engine.attention_pack_size=2 --format json")
                                   .output);
  CHECK(all["from"]["tensor_parallel"] == 2);
  CHECK(all["from"]["order"] == "hnd");
  CHECK(all["to"]["tensor_parallel"] == 1);
  CHECK(all["to"]["order"] == "nhd");
  CHECK(all["to"]["attention_pack_size"] == 2);
}

TEST_CASE("edge: what both sides note of their model is said once") {
  const ScratchFolder folder;
  json config = json::parse(std::ifstream(HYBRIDKV_SOURCE_DIR "/docs/samples/sample-hybrid/config.json"));
  config["sliding_window"] = 4096;
  const ProgramRun run = run_program("transfer --model '" + folder.file("noted.json", config.dump()) +
                                     "' --memory 40G --max-model-len 4k --to-set engine.tensor_parallel=2 --tokens 1k");
  CHECK(run.exit_code == 0);
  const std::size_t first = run.output.find("is not used");
  REQUIRE(first != std::string::npos);
  CHECK(run.output.find("is not used", first + 1) == std::string::npos);
}

TEST_CASE("golden: of several packs the first is planned, and said") {
  const ProgramRun run = run_program("transfer qwen3.5-397b --tokens 1k --format csv");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "N = 1, the first of 1, 2, 3"));
  CHECK(!contains(run_program("transfer qwen3.5-397b --tokens 1k --pack 5 --format csv").output, "the first of"));
}

TEST_CASE("edge: several values typed where one is moved are refused with the flag, for packs and for lengths") {
  for (const char* flag : {"--pack 1,3", "--max-model-len 4k,8k", "--to-set limits.max_model_len=[4096,8192]"}) {
    CAPTURE(flag);
    require_refused(std::string("transfer qwen3.5-397b --tokens 1k ") + flag,
                    "2 values where one is answered; give one of ");
  }
  // Nothing is said of a first one before that.
  for (const char* question : {"transfer qwen3.5-397b --tokens 1k", "plot qwen3.5-397b transfer -o plots"}) {
    const std::string output =
        run_program(std::string(question) + " --to-set engine.tensor_parallel=4 --pack 3,1").output;
    CAPTURE(output);
    CHECK(output.starts_with("hybridkv: --pack 3,1: engine.attention_pack_size: 2 values"));
    CHECK(!contains(output, "the first of"));
  }
  const std::string of_to =
      run_program("transfer qwen3.5-397b --tokens 1k --to-set engine.attention_pack_size=[3,1]").output;
  CAPTURE(of_to);
  CHECK(of_to.starts_with("hybridkv: FROM: N = 1, the first of 1, 2, 3"));
  CHECK(!contains(of_to, "TO: N = "));
}

TEST_CASE("edge: the help of commands with one answer says that they take one value of a list") {
  for (const char* command : {"boot", "transfer", "bound"})
    CHECK(contains(run_program(command + std::string(" --help")).output, "one; of several in a file the longest"));
  for (const char* command : {"boot", "transfer"})
    CHECK(contains(run_program(command + std::string(" --help")).output, "page: one; of several in a file"));
}

TEST_CASE("golden: the list as JSON Lines, to a file or in place of the report") {
  const ScratchFolder folder;
  const std::string file = (folder.path / "copies.jsonl").string();
  const std::string question = "transfer " + small_move + "--to-set engine.tensor_parallel=2 --tokens 100 -q ";
  const ProgramRun run = run_program(question + "--export " + file);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "must move"));
  const std::string lines = text_of(file);
  const json header = json::parse(first_line(lines));
  CHECK(header["schema"] == "hybridkv-transfer/1");
  CHECK(count_lines(lines) == header["descriptors"].get<std::int64_t>() + 1);
  CHECK(run_program(question + "--export -").output == lines);
  CHECK(run_program(question + "--export " + file).exit_code == 0);  // its own file is replaced
  CHECK(text_of(file) == lines);
  // Its ids read back.
  std::ofstream(folder.path / "ids.json") << header["from"]["ids"].dump();
  const ProgramRun again = run_program(question + "--ids consecutive --export - --from-ids " +
                                       (folder.path / "ids.json").string());
  CHECK(json::parse(first_line(again.output))["from"]["ids"] == header["from"]["ids"]);
  CHECK(json::parse(first_line(again.output))["to"]["ids"] != header["to"]["ids"]);
  CHECK(run_shell("\"$HYBRIDKV\" " + question + "--export - | head -n 1").output == first_line(lines) + "\n");
}

TEST_CASE("fault: nothing is replaced that this command did not write, and nothing is written half") {
  const ScratchFolder folder;
  const std::string notes = (folder.path / "notes.txt").string();
  std::ofstream(notes) << "mine\n";
  const std::string question = "transfer " + small_move + "--to-set engine.tensor_parallel=2 --tokens 100 ";
  require_refused(question + "--export " + notes, "exists already; take another name, or --force to replace it");
  CHECK(text_of(notes) == "mine\n");
  require_refused(question + "--export " + folder.path.string(), folder.path.string());
  require_refused(question + "--export " + folder.path.string() + "/no/such.jsonl", "no/such.jsonl");
  const std::string half = (folder.path / "half.jsonl").string();
  require_refused("transfer " + small_move + "--to-set engine.kv_dtype=fp8 --export " + half, "to.engine.kv_dtype");
  CHECK(!std::filesystem::exists(half));
  const std::string scenario = (folder.path / "own.yaml").string();
  std::ofstream(scenario) << "model: Qwen3.5-0.8B\nengine: {memory: 1 GiB}\nlimits: {max_model_len: 4096}\n";
  require_refused("transfer " + scenario + " --export " + scenario, scenario);
  CHECK(contains(text_of(scenario), "model: Qwen3.5-0.8B"));
}

TEST_CASE("fault: what the other side cannot be is said at its flag") {
  require_refused("transfer " + small_move + "--to-set engine.tensor_paralel=2", "did you mean");
  require_refused("transfer " + small_move + "--to-set engine.tensor_paralel=2", "--to-set engine.tensor_paralel=2");
  require_refused("transfer " + small_move + "--to-set engine.tensor_parallel=3",
                  "--to-set engine.tensor_parallel=3: to.engine.tensor_parallel");
  require_refused("transfer " + small_move + "--to-set engine.tensor_parallel", "write KEY=VALUE");
  require_refused("transfer " + small_move + "--to-set engine.ssm_dtype=bf16", "--convert dtype");
  require_refused("transfer qwen3.5-397b Qwen3.5-397B-A17B", "TO Qwen3.5-397B-A17B: is a model");
  require_refused("transfer qwen3.5-397b no-such-scenario", "no-such-scenario");
  require_refused("transfer", "nothing to plan");
}

TEST_CASE("fault: requests that neither side holds") {
  require_refused("transfer " + small_move + "--tokens 5k", "--tokens 4096");
  require_refused("transfer " + small_move + "--tokens 0", "--tokens 0");
  require_refused("transfer " + small_move + "--tokens many", "--tokens");
  require_refused("transfer " + small_move + "--tokens 100 --present 200", "--present 200");
  require_refused("transfer " + small_move + "--set engine.num_blocks=40 --to-set engine.num_blocks=6", "usable");
  require_refused("transfer " + small_move + "--convert types", "--convert");
  require_refused("transfer " + small_move + "--ids random", "--ids");
}

TEST_CASE("fault: ids that no request holds are said with their place") {
  const ScratchFolder folder;
  const std::string ids = (folder.path / "ids.json").string();
  const auto refused = [&](const std::string& text, const std::string& message) {
    std::ofstream(ids) << text;
    require_refused("transfer " + small_move + "--tokens 100 --from-ids " + ids, message);
  };
  refused("[[1, 2]\n, [true]]", "ids.json:2:4: an id");
  refused("[[1]]", "ids.json: holds 1 table, this side has 4 groups");
  refused("", "ids.json");
  require_refused("transfer " + small_move + "--to-ids " + folder.path.string() + "/none.json", "none.json");
}

TEST_CASE("golden: a transfer is proven, and a planted fault is caught") {
  const std::string question = "transfer " + small_move + "--to-set engine.tensor_parallel=2 --tokens 1k -q --verify";
  const ProgramRun run = run_program(question);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "Every element is where it belongs"));
  const ProgramRun planted = run_program(question + " --inject one-descriptor-short");
  CAPTURE(planted.output);
  CHECK(planted.exit_code == 1);
  CHECK(contains(planted.output, "was caught by kv-moved"));
  const ProgramRun all = run_program(question + " --inject all");
  CAPTURE(all.output);
  CHECK(all.exit_code == 0);
  CHECK(contains(all.output, " caught\n"));
  CHECK(!contains(all.output, "NOT caught"));
}

TEST_CASE("fault: faults that do not exist, belong elsewhere or have no place") {
  const std::string question = "transfer " + small_move + "--tokens 100 ";
  require_refused(question + "--inject heads-swapped", "--inject plants a fault for --verify; add it");
  require_refused(question + "--verify --inject heads-swaped", "did you mean 'heads-swapped'?");
  require_refused(question + "--verify --inject wrong-replica", "the fault wrong-replica has no place here");
  require_refused(question + "--verify --export -", "standard output is what --verify says");
}

TEST_CASE("law: query heads that pad those of the model are no fault: the others stay with their KV heads") {
  for (const char* ranks : {"--tp 1 --to-set engine.tensor_parallel=6", "--tp 6 --to-set engine.tensor_parallel=4"}) {
    CAPTURE(ranks);
    const ProgramRun run = run_program("transfer --model Falcon-H1-0.5B --memory 2G --max-model-len 2k --pack 1 --mode "
                                       "align --set engine.pad_heads=true --tokens 100 --verify -q " +
                                       std::string(ranks));
    CAPTURE(run.output);
    CHECK(run.exit_code == 0);
  }
}
