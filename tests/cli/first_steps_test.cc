// A newcomer's first commands: what is missing, what was meant, and the ways in which models and numbers are typed.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

const std::string sample = HYBRIDKV_SOURCE_DIR "/docs/samples/sample-hybrid/config.json";
const std::string trace = HYBRIDKV_SOURCE_DIR "/docs/samples/trace.jsonl";
const std::string rest = " --memory 40GiB --max-model-len 32k";

/// The command that a message ends with, without the word hybridkv.
std::string proposed(const std::string& message) {
  const std::string start = "for example\n  hybridkv ";
  const std::size_t begin = message.find(start);
  REQUIRE(begin != std::string::npos);
  const std::string command = message.substr(begin + start.size());
  return command.substr(0, command.find('\n'));
}

/// Refused for these reasons, with a command that works.
void require_completed(const std::string& arguments, const std::string& missing) {
  CAPTURE(arguments);
  const ProgramRun run = run_program(arguments);
  CAPTURE(run.output);
  CHECK(run.exit_code == 2);
  CHECK(contains(run.output, "hybridkv: nothing to plan: " + missing));
  const std::string command = proposed(run.output);
  CHECK(command.starts_with(arguments));
  const ProgramRun again = run_program(command);
  CAPTURE(again.output);
  CHECK(again.exit_code == 0);
}

/// The same result as another command has.
void require_same(const std::string& arguments, const std::string& other) {
  CAPTURE(arguments);
  const ProgramRun run = run_program(arguments);
  CHECK(run.exit_code == 0);
  CHECK(run.output == run_program(other).output);
}

}  // namespace

TEST_CASE("law: forward passes need no memory and no length, and show the same as with them") {
  const std::string asked = "verify --forward --quiet --case fresh-blocks";
  const std::string passes = asked + " --pack 2 --format csv --model granite-4.0-h-350m";
  require_same(passes, passes + rest);
  require_same(asked + " --pack 2 --format csv granite-4.0-h-350m", passes);
  require_completed(asked, "name a SCENARIO");
}

TEST_CASE("edge: flags of vLLM are answered with what asks for the same here") {
  const std::string plan = "plan --model Qwen3.5-4B --memory 40G --max-model-len 32k ";
  require_refused(plan + "--tensor-parallel-size 2", "plan has no flag --tensor-parallel-size; here it is --tp RANKS");
  require_refused(plan + "--kv-cache-dtype=fp8", "here it is --kv-dtype DTYPE");
  require_refused(plan + "--mamba-cache-mode align", "here it is --mode MODE");
  require_refused(plan + "--block-size 256", "here it is --set engine.block_size_tokens=TOKENS");
  require_refused("simulate qwen3.5-397b --prefix-match-unit 16", "here it is --match-unit TOKENS");
  require_refused("plan qwen3.5-397b --prefix-match-unit 16", "plan has no flag --prefix-match-unit\n");
}

TEST_CASE("edge: a unit that stands apart from its number, and separators that look like a list") {
  require_refused("plan --model Qwen3.5-4B --memory 40 GB --max-model-len 32k",
                  "--memory 40 GB: write number and unit as one word: --memory 40GB");
  require_refused("plan --model Qwen3.5-4B --memory 40G --max-model-len 32 k", "--max-model-len 32k");
  require_refused("plan --model Qwen3.5-4B --memory 40G --max-model-len 32,768",
                  "--max-model-len 32,768: write one number without separators: 32768; several as \"[32,768]\"");
  for (const char* lengths : {"'[32,768]'", "8192,32768"})
    CHECK(run_program(std::string("plan --model Qwen3.5-4B --memory 40G --max-model-len ") + lengths).exit_code == 0);
}

TEST_CASE("edge: the name of a model with its organisation in front is no file alone") {
  require_refused("plan Qwen/Qwen3.5-400B --memory 40G --max-model-len 32k", "did you mean");
  require_refused("plan facebook/opt-66b --memory 40G --max-model-len 32k", "`hybridkv models` lists the models");
  require_refused("plan ./none.yaml", "none.yaml: no such file\n");
  require_refused("import Qwen/Qwen3.5-4B", "--model Qwen/Qwen3.5-4B needs no import");
}

TEST_CASE("edge: a bare hybridkv shows the first steps, each of which runs, and ends with 2") {
  const ProgramRun bare = run_program("");
  CHECK(bare.exit_code == 2);
  CHECK(contains(bare.output, "hybridkv models"));
  CHECK(run_program("2>/dev/null #").output.empty());
  CHECK(run_program("plan --model Qwen3.5-4B --memory 40GiB --max-model-len 32k").exit_code == 0);
  CHECK(contains(bare.output, "hybridkv plan --model Qwen3.5-4B --memory 40GiB --max-model-len 32k\n"));
  CHECK(contains(run_program("--version").output, "hybridkv 0."));
}

TEST_CASE("edge: everything that is missing is said at once, with a command that works") {
  require_completed("plan", "name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b,\nexample) or");
  require_completed("plan --model Qwen3.5-4B", "--memory SIZE and --max-model-len TOKENS are missing");
  require_completed("plan --model Qwen3.5-4B --memory 20G", "--max-model-len TOKENS is missing");
  require_completed("explain --max-model-len 32k", "--model NAME and --memory SIZE are missing");
  require_completed("explain --max-model-len 32k --step 'prompt 5'", "--model NAME and --gpu NAME are missing");
  require_completed("plan Qwen3.5-4B --tp 2", "--memory SIZE and --max-model-len TOKENS are missing");
  require_completed("sweep --model Qwen3.5-4B,Qwen3.5-9B --quiet",
                    "--memory SIZE and --max-model-len TOKENS are missing");
  require_completed("plan --model Qwen3.5-4B --set engine.num_blocks=1000", "--max-model-len TOKENS is missing");
  require_completed("plan " + sample, "--memory SIZE and --max-model-len TOKENS are missing");
  require_refused("plan --model Qwen3.5-4", "did you mean 'Qwen3.5-4B'?");
  // In a file too all that is missing is said at once.
  const ScratchFolder scratch;
  require_refused("plan " + scratch.file("my.yaml", "model: Qwen3.5-4B\n"), "key 'engine' is missing: ");
  require_refused("plan " + scratch.file("my.yaml", "model: Qwen3.5-4B\n"), "key 'limits' is missing: ");
}

TEST_CASE("edge: the values proposed suit every shipped model") {
  std::istringstream models(run_program("models --format csv").output);
  std::string line;
  std::getline(models, line);
  int count = 0;
  for (; std::getline(models, line); ++count) {
    const std::string name = line.substr(0, line.find(','));
    CAPTURE(name);
    CHECK(run_program("plan --model " + name + rest).exit_code == 0);
  }
  CHECK(count > 30);
}

TEST_CASE("edge: a model where a scenario is expected is planned") {
  const ScratchFolder scratch;
  const std::string plan = "plan --model Qwen3.5-4B" + rest;
  require_same("plan Qwen3.5-4B" + rest, plan);
  require_same("plan Qwen/Qwen3.5-4b" + rest, plan);
  const std::string file = (scratch.path / "my.yaml").string();
  CHECK(run_program("import " + sample + " -o " + file).output == file + ": sample-hybrid, 24 layers\n");
  const std::string imported = "plan --model " + file + rest;
  require_same("plan " + file + rest, imported);
  require_same("plan " + sample + rest, imported);
  require_same("plan " + fs::path(sample).parent_path().string() + rest, imported);
  require_same("plan --model " + fs::path(sample).parent_path().string() + rest, imported);
  // A folder of that name is not the model; with a slash it is.
  const std::string in = "cd '" + scratch.path.string() + "' &&";
  fs::create_directory(scratch.path / "Qwen3.5-4B");
  fs::copy_file(sample, scratch.path / "Qwen3.5-4B" / "config.json");
  CHECK(run_program("plan Qwen3.5-4B" + rest, in).output == run_program(plan).output);
  CHECK(run_program(plan, in).output == run_program(plan).output);
  CHECK(contains(run_program("plan ./Qwen3.5-4B" + rest, in).output, "6 full_attention layers"));
  CHECK(contains(run_program("plan --model ./Qwen3.5-4B" + rest, in).output, "6 full_attention layers"));
  require_refused("plan Qwen3.5-4B --model Qwen3.5-9B" + rest, "Qwen3.5-4B is a model, and so is --model Qwen3.5-9B");
}

TEST_CASE("golden: your model in three lines: import, plan, simulate") {
  const ScratchFolder scratch;
  const std::string in = "cd '" + scratch.path.string() + "' &&";
  CHECK(run_program("import " + sample + " -o my.yaml", in).exit_code == 0);
  const ProgramRun plan = run_program("plan --model my.yaml --memory 40G --max-model-len 32k", in);
  CHECK(plan.exit_code == 0);
  CHECK(contains(plan.output, "6 full_attention layers, 2 KV heads (K 128 + V 128), bf16"));
  const ProgramRun replay =
      run_program("simulate --model my.yaml --memory 40G --max-model-len 32k --mode align --trace " + trace, in);
  CHECK(replay.exit_code == 0);
  CHECK(contains(replay.output, "45 requests"));
}

TEST_CASE("edge: standard input is a scenario, a model file or a config") {
  const ScratchFolder scratch;
  const std::string scenario = HYBRIDKV_SOURCE_DIR "/scenarios/qwen3.5-397b.yaml";
  require_same("plan - --format csv < " + scenario, "plan " + scenario + " --format csv");
  require_same("sweep - --quiet < " + scenario, "sweep " + scenario + " --quiet");
  const std::string file = (scratch.path / "imported.yaml").string();
  CHECK(run_program("import - -o " + file + " < " + sample).output == file + ": imported, 24 layers\n");
  const std::string imported = "plan --model " + file + rest;
  require_same("plan --model -" + rest + " < " + file, imported);
  require_same("plan --model -" + rest + " < " + sample, imported);
  require_same("plan -" + rest + " < " + sample, imported);
  // A sweep reads its model more than once.
  const ProgramRun sweep = run_program("sweep --model - --tp 1,2" + rest + " < " + file);
  CHECK(sweep.exit_code == 0);
  CHECK(contains(sweep.output, "hybridkv: 2 points: 2 ok, 0 impossible"));
  require_refused("plan - --model -" + rest + " < " + sample, "which can be read once");
  require_refused("plan - < /dev/null", "standard input: holds no values");
  require_refused("import - < /dev/null", "standard input:");
}

TEST_CASE("edge: sizes and tokens as people write them") {
  const std::string base = "plan --model Qwen3.5-4B --memory 42949672960 --max-model-len 32768";
  for (const char* memory : {"40G", "40gib", "'40 GiB'", "40g", "40Gi"})
    require_same(std::string("plan --model Qwen3.5-4B --max-model-len 32k --memory ") + memory, base);
  for (const char* tokens : {"32K", "32k", "'32 k'"})
    require_same(std::string("plan --model Qwen3.5-4B --memory 40G --max-model-len ") + tokens, base);
  require_same("plan --model Qwen3.5-4B --set engine.memory=40G --set limits.max_model_len=32k", base);
  require_same("plan --model Qwen3.5-4B --memory '40 GB' --max-model-len 1M,128k",
               "plan --model Qwen3.5-4B --memory 40000000000 --max-model-len 1048576,131072");
  require_same("sweep example --dry-run --set limits.max_model_len='[1k..4k step 1k, 8k]'",
               "sweep example --dry-run --set limits.max_model_len='[1024..4096 step 1024, 8192]'");
  const std::string simulate = "simulate --num-blocks 100 --trace " + trace;
  require_same(simulate + " --block-size 1k --max-batched-tokens 8k", simulate + " --block-size 1024");
  require_refused("plan qwen3.5-397b --max-model-len 32_768", "write it without separators: 32768");
  require_refused("plan qwen3.5-397b --memory 42,949,672,960", "write it without separators: 42949672960");
  require_refused("plan qwen3.5-397b --tp 2k", "'2k' is not a whole number");
  require_refused("recommend qwen3.5-397b --at-length 32q", "--at-length: '32q' is not a whole number of tokens");
  CHECK(contains(run_program("sweep example --set limits.max_model_len='[1k, 2k]' --quiet").output,
                 "\"limits.max_model_len\":2048,"));
  require_refused("sweep example --set limits.max_model_len='[1k, 1024]'", "'1024' is given twice");
}

TEST_CASE("edge: an empty value of a list is refused with its place") {
  require_refused("sweep qwen3.5-397b --pack 1,,2", "--pack: value 2 of the list '1,,2' is empty");
  require_refused("plan qwen3.5-397b --pack 1,2,", "--pack: value 3 of the list '1,2,' is empty");
  require_refused("plan qwen3.5-397b --pack ,1", "--pack: value 1 of the list ',1' is empty");
  require_refused("sweep --model Qwen3.5-4B,,Qwen3.5-9B" + rest, "--model: value 2 of the list");
  require_refused("simulate --block-size 16,,32 --num-blocks 100", "--block-size: value 2 of the list");
  require_refused("bench --batch q16,,q32", "--batch: value 2 of the list");
  require_refused("sweep qwen3.5-397b --set 'engine.tensor_parallel=[1,,2]'", "a value of the list is empty");
  CHECK(run_program("sweep qwen3.5-397b --quiet --set 'engine.block_size_tokens=[null,256]'").exit_code == 0);
}

TEST_CASE("edge: --mode, --kv-dtype and --ssm-dtype stand for the keys of the engine") {
  require_same("plan qwen3.5-397b --mode all --kv-dtype fp8 --ssm-dtype bf16 --format csv",
               "plan qwen3.5-397b --set engine.cache_mode=all --set engine.kv_dtype=fp8 --set engine.ssm_dtype=bf16 "
               "--format csv");
  require_same("sweep qwen3.5-397b --mode none,align --quiet",
               "sweep qwen3.5-397b --set engine.cache_mode='[none, align]' --quiet");
  const std::string help = "--mode align --kv-dtype fp8 --ssm-dtype fp32 --help";
  for (const char* command : {"plan", "explain", "verify", "bench", "plot", "report", "simulate", "sweep", "recommend"})
    CHECK(run_program(std::string(command) + " " + help).exit_code == 0);
  require_refused("simulate --block-size 16 --num-blocks 100 --kv-dtype fp8", "--kv-dtype belongs to a plan");
  require_refused("plan qwen3.5-397b --mode none,align", "several values make a sweep");
}

TEST_CASE("edge: what was mistyped is named with what may have been meant") {
  require_refused("pln", "there is no command 'pln'; did you mean 'plan'?");
  require_refused("help pln", "did you mean 'plan'?");
  require_refused("my.yaml", "to plan it: hybridkv plan my.yaml");
  require_refused("plan qwen3.5-397b --pak 3", "plan has no flag --pak; did you mean '--pack'?");
  require_refused("plan qwen3.5-397b --pak=3", "did you mean '--pack'?");
  require_refused("plan qwen3.5-397b --trace x", "simulate, sweep, bound, recommend and doctor have it");
  require_refused("--model Qwen3.5-4B", "write it behind one: plan, explain");
  require_refused("plan qwen3.5-397", "did you mean 'qwen3.5-397b' or 'Qwen3.5-397B-A17B'?");
  require_refused("plan qwen3.5-397b --format jsn", "did you mean 'json'?");
  require_refused("plan qwen3.5-397b --color alway", "did you mean 'always'?");
  require_refused("plan qwen3.5-397b --mode alig", "did you mean 'align'?");
  require_refused("plan qwen3.5-397b --kv-dtype fp8_e4m", "did you mean 'fp8_e4m3'?");
  require_refused("plan qwen3.5-397b --set engin.memory=1G", "did you mean 'engine'?");
  require_refused("plan --model Qwen3.5-4BB" + rest, "did you mean 'Qwen3.5-4B' or");
  require_refused("bench --batch small_decod", "did you mean 'small_decode'?");
  require_refused("bench --backend page", "did you mean 'paged'?");
  require_refused("bench --order ndh", "did you mean 'nhd'?");
  require_refused("bench --bias chunkd", "did you mean 'chunked'?");
  require_refused("verify qwen3.5-397b --inject zero-ful-page", "did you mean 'zero-full-page'?");
  require_refused("verify --forward qwen3.5-397b --case draft", "did you mean 'drafts'?");
  require_refused("plot qwen3.5-397b blok-size -o /tmp", "did you mean 'block-size'?");
  require_refused("attend case --bias chunkd", "did you mean 'chunked'?");
  require_refused("recommend qwen3.5-397b --modes alig", "did you mean 'align'?");
  require_refused("recommend qwen3.5-397b --search exhaustiv", "did you mean 'exhaustive'?");
  require_refused("simulate qwen3.5-397b --driver closed-lop", "did you mean 'closed_loop'?");
  require_refused("sweep qwen3.5-397b --format cvs", "did you mean 'csv'?");
  require_refused("models --family gdm", "did you mean 'gdn'?");
  require_refused("import " + sample + " --dtype bf61", "did you mean 'bf16'?");
}

TEST_CASE("edge: what no flag set stands at no line of anything") {
  const ProgramRun run = run_program("bound --model Qwen3.5-9B --memory 2G --max-model-len 32k --engine vllm-2026-06");
  CHECK(run.exit_code == 2);
  CHECK(run.output == "hybridkv: command line: engine.cache_mode: this cache finds no prefix again, whatever the "
                      "policy; take mode align\n");
}

TEST_CASE("edge: a number that outgrows 64 bits is shown where it stands") {
  const ScratchFolder scratch;
  const std::string file = scratch.file(
      "wide.yaml",
      "model:\n  name: wide\n  layers: a\n  kinds:\n"
      "    a: {type: full_attention, query_heads: 1000000, kv_heads: 1000000, head_size: 1000000}\n"
      "engine:\n  memory: 40G\n  block_size_tokens: 1099511627776\nlimits:\n  max_model_len: 32k\n");
  require_refused("plan " + file, file + ":8:22: engine.block_size_tokens: 1099511627776 is more than can be planned");
  require_refused("plan " + file + " --set engine.block_size_tokens=549755813888",
                  "--set engine.block_size_tokens=549755813888: engine.block_size_tokens: 549755813888 is more than");
}

TEST_CASE("edge: a published name with suffixes finds its model, and what was assumed is on standard error") {
  const std::string plan = "plan --model Qwen3.5-4B --format csv" + rest;
  require_same("plan --model Qwen/Qwen3.5-4B-Instruct-FP8 --format csv" + rest + " 2>/dev/null #", plan);
  const ProgramRun run = run_program("plan --model Qwen3.5-4B-FP8" + rest);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "hybridkv: Qwen3.5-4B-FP8 is planned with the layers of Qwen3.5-4B; FP8 is taken"));
  CHECK(contains(run_program("sweep --quiet --model Qwen3.5-4B-FP8,Qwen3.5-9B" + rest).output, "FP8 is taken for the"));
  CHECK(contains(run_program("models Qwen/Qwen3.5-4B-FP8").output, "Qwen3.5-4B "));
  require_refused("plan --model Qwen/Qwen3.5-6B-FP8" + rest,
                  "and no such file; did you mean 'Qwen3.5-2B' or 'Qwen3.5-4B'");
}

TEST_CASE("edge: a config without a dtype asks for the flag, which gives it; unused fields are said") {
  const ScratchFolder scratch;
  std::ifstream file(sample);
  std::stringstream text;
  text << file.rdbuf();
  std::string config = text.str();
  const std::string dtype = "\"dtype\": \"bfloat16\",";
  config.replace(config.find(dtype), dtype.size(), "\"sliding_window\": 4096,");
  const std::string bare = scratch.file("config.json", config);
  require_refused("import " + bare, "`hybridkv import CONFIG --dtype bf16 -o FILE` gives");
  const ProgramRun run = run_program("import " + bare + " --dtype bf16");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "dtype: bf16\n"));
  CHECK(contains(run.output, "hybridkv: sliding_window '4096' is not used: no layer is declared to have it"));
  scratch.file("windowed.json", config.replace(config.find("{"), 1, "{ " + dtype));
  // Named without its folder, whose length would decide where the line ends.
  const std::string here = "cd '" + scratch.path.string() + "' && \"$HYBRIDKV\" ";
  CHECK(contains(run_shell(here + "plan windowed.json" + rest).output, "sliding_window '4096' is not used"));
}
