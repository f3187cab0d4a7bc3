// What the program answers to a dozen questions about three models under every release, as files of tests/data/answers:
// a change of any of them is seen. Where one is meant, HYBRIDKV_WRITE_ANSWERS=1 writes them anew, and the change of
// these files says what users will see otherwise. They are JSON or CSV, of which a change of one number changes one
// line; but for three, which hold how a terminal shows tables: a plan (facts, warnings, footers), a replay (losses,
// several sections) and a recommendation (reasons, a front that is wider than the terminal).
//
// Beside them tests/data/answers/shown holds commands with what a terminal shows, refusals too: commands that were put
// together at random, of which those were kept that print a line of a kind that none before them printed; and, in
// plots, reports and files, commands that write files, and what is in these.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/engine_rules.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const std::filesystem::path answers_folder = HYBRIDKV_TEST_DATA "/answers";

/// What `verify` says, without what a machine decides: times, memory of the process and errors of rounding.
std::string without_machine(const std::string& output) {
  static const std::regex json(R"re(("(?:seconds|max_error|times_allowed|backend_difference)re"
                               R"re(|resident_bytes|peak_process_bytes)": )[0-9.e+-]+)re");
  // Another order of the sums of a reference gives other last digits.
  static const std::regex tolerance(R"re(("tolerance": [0-9]\.[0-9]{1,8})[0-9]*)re");
  return std::regex_replace(std::regex_replace(output, json, "$010"), tolerance, "$1");
}

/// What `recommend` says but for its list of candidates, which answers in CSV hold of smaller spaces.
std::string without_candidates(const std::string& output) {
  auto answer = nlohmann::ordered_json::parse(output);
  answer.erase("candidates");
  return answer.dump(2) + "\n";
}

/// The first line that differs, of both.
std::string difference(const std::string& now, const std::string& before) {
  const auto at = std::mismatch(now.begin(), now.end(), before.begin(), before.end());
  const auto line = [](const std::string& text, std::size_t position) {
    const std::size_t begin = position == 0 ? 0 : text.rfind('\n', position - 1) + 1;
    return text.substr(begin, std::min(text.find('\n', position), begin + 400) - begin);
  };
  return fmt::format("now:    {}\nbefore: {}", line(now, static_cast<std::size_t>(at.first - now.begin())),
                     line(before, static_cast<std::size_t>(at.second - before.begin())));
}

/// What the program says of the arguments is what the file holds, its exit code behind it unless that is 0.
void check_answer(const std::filesystem::path& file, const std::string& arguments) {
  const ProgramRun run = run_program(arguments, "cd '" HYBRIDKV_SOURCE_DIR "/docs/samples' &&");
  CAPTURE(arguments);
  std::string now = run.output;
  if (arguments.starts_with("verify")) now = without_machine(now);
  if (arguments.starts_with("recommend") && file.extension() == ".json") now = without_candidates(now);
  if (run.exit_code != 0) now += fmt::format("exit code {}\n", run.exit_code);
  if (std::getenv("HYBRIDKV_WRITE_ANSWERS") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << now;
  }
  const std::string before = text_of(file);
  if (now != before) FAIL_CHECK(file.lexically_relative(answers_folder).string() << "\n" << difference(now, before));
}

/// A command, and all that it prints.
struct Shown {
  std::string command, output;
};

/// A line that begins with "$ " is a command, what stands below it is its output.
std::vector<Shown> shown_in(const std::string& text) {
  std::vector<Shown> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("$ "))
      all.push_back({line.substr(2), ""});
    else
      all.at(all.size() - 1).output += line + "\n";
  return all;
}

/// What a shell shows in a folder with the files of docs/samples, with `configs`, published ones of models, and with
/// `attention`, tensors of batches.
std::string shown_of(const std::string& command) {
  const ScratchFolder scratch;
  for (const auto& sample : std::filesystem::directory_iterator(HYBRIDKV_SOURCE_DIR "/docs/samples"))
    std::filesystem::create_symlink(sample.path(), scratch.path / sample.path().filename());
  for (const char* folder : {"attention", "configs"})
    std::filesystem::create_symlink(std::filesystem::path(HYBRIDKV_TEST_DATA) / folder, scratch.path / folder);
  const ProgramRun run =
      run_shell(fmt::format("cd '{}' && hybridkv() {{ \"$HYBRIDKV\" \"$@\"; }} && {}", scratch.path.string(), command));
  if (run.exit_code == 0) return run.output;
  return run.output + fmt::format("exit code {}\n", run.exit_code);
}

/// The commands of a file print what it says.
void check_shown(const std::filesystem::path& file) {
  const std::vector<Shown> all = shown_in(text_of(file));
  REQUIRE(!all.empty());
  std::string written;
  for (const auto& [command, before] : all) {
    const std::string now = shown_of(command);
    written += fmt::format("$ {}\n{}", command, now);
    if (now != before) FAIL_CHECK(command << "\n" << difference(now, before));
  }
  if (std::getenv("HYBRIDKV_WRITE_ANSWERS") != nullptr) std::ofstream(file, std::ios::binary) << written;
}

/// What an engine has to be told to start in 3 GiB, and to find anything.
std::string settings_of(const std::string& release) {
  if (release != rules_of_tensorrt_llm.name) return "";
  return " --set engine.max_batch_size=8 --set 'engine.additional_snapshot_offsets_from_end=[0]' "
         "--set engine.periodic_snapshot_interval=512 --set engine.enable_branch_snapshot=true";
}

/// One question about a model under every release, and for three of them as a terminal shows it under the newest.
void check_answers_about(const std::string& model, const std::string& name, const std::string& command,
                         const std::string& format) {
  for (const std::string& release : release_names()) {
    const std::string asked = fmt::format("{} --model {} --engine {} --memory 3GiB --max-model-len 16k --mode align",
                                          command, model, release) +
                              settings_of(release);
    check_answer(answers_folder / name / fmt::format("{}.{}.{}", model, release, format),
                 fmt::format("{} --format {}", asked, format));
    const bool is_shown = name == "plan" || name == "simulate" || name == "recommend";
    if (is_shown && release == rules_of_vllm_0_33.name && model.starts_with("Qwen"))
      check_answer(answers_folder / name / fmt::format("{}.{}.txt", model, release), asked);
  }
}

/// About three kinds of cache: states beside full attention, windows, states beside latents.
void check_answers(const std::string& name, const std::string& command, const std::string& format = "json") {
  for (const char* model : {"Qwen3.5-4B", "gpt-oss-20b", "Kimi-Linear-48B-A3B"})
    check_answers_about(model, name, command, format);
}

}  // namespace

TEST_CASE("answers: plan") { check_answers("plan", "plan"); }
TEST_CASE("answers: plan where pages have scales beside them, and where blocks are whole pages of a kernel") {
  const std::string asked = "plan --engine vllm-0.33 --memory 20GiB --max-model-len 32k --format json ";
  check_answer(answers_folder / "plan/scales.json", asked + "--model Qwen3.5-4B --kv-dtype nvfp4 "
                                                            "--set engine.physical_order=LBHNC");
  check_answer(answers_folder / "plan/kernel-pages.json", asked + "--model GLM-5.3-Flash --backend-profile flashmla "
                                                                  "--set engine.physical_order=BLHNC");
}
TEST_CASE("answers: explain") { check_answers("explain", "explain"); }
TEST_CASE("answers: compare") { check_answers("compare", "compare --vary engine.tensor_parallel=1,2 --requests 100"); }
TEST_CASE("answers: simulate") { check_answers("simulate", "simulate --requests 100 --losses --upper-bounds"); }
TEST_CASE("answers: sweep") {
  const std::string asked = "sweep --set 'engine.memory=[3GiB,9GiB]' --simulate --requests 50";
  check_answers("sweep", asked, "csv");
  check_answer(answers_folder / "sweep/Qwen3.5-4B.vllm-0.33.jsonl",
               asked + " --model Qwen3.5-4B --engine vllm-0.33 --memory 3GiB --max-model-len 16k --mode align");
}
TEST_CASE("answers: bound") {
  check_answers("bound", "bound --requests 100");
  check_answers_about("Qwen3.5-4B", "bound-of-many", "bound --requests 3000", "json");
}
TEST_CASE("answers: recommend") { check_answers("recommend", "recommend --requests 50", "csv"); }
TEST_CASE("answers: all of what docs/recommend.md and docs/engines.md show a part of") {
  check_answer(answers_folder / "recommend/packs.json",
               "recommend qwen3.5-397b --packs 1..5,15 --modes align,none --format json");
  check_answer(answers_folder / "recommend/radix-tree.json",
               "recommend qwen3.5-397b --engine sglang-0.5.23 --format json");
  check_answer(answers_folder / "compare/engines.json",
               "compare qwen3.5-397b --pack 1 --engines all --requests 2000 --format json");
}
TEST_CASE("answers: transfer") { check_answers("transfer", "transfer --to-set engine.tensor_parallel=2 --tokens 8k"); }
TEST_CASE("answers: verify") { check_answers_about("Qwen3.5-0.8B", "verify", "verify -q --pack 1", "json"); }
TEST_CASE("answers: verify --forward") { check_answers("forward", "verify -q --forward --scale 64"); }
TEST_CASE("answers: boot") { check_answers("boot", "boot"); }
TEST_CASE("answers: doctor") {
  for (const std::string& release : release_names())
    check_answer(answers_folder / "doctor" / fmt::format("{}.json", release),
                 fmt::format("doctor server.txt --set engine.release={} --format json", release));
  check_answer(answers_folder / "doctor/log.json", "doctor server.txt --format json");
  for (const char* log : {"serving", "failed", "metrics", "sglang", "llama-server"})
    check_answer(answers_folder / fmt::format("doctor/{}.json", log),
                 fmt::format("doctor {}.txt --format json", log));
  check_answer(answers_folder / "doctor/trtllm.json",
               "doctor trtllm.txt --model Qwen3.5-4B --max-model-len 32k --format json");
}

TEST_CASE("answers: what a terminal shows") {
  for (const auto& file : std::filesystem::directory_iterator(answers_folder / "shown")) check_shown(file.path());
}

TEST_CASE("fault: another output of a command, and another exit code, are found") {
  const std::vector<Shown> all = shown_in("$ hybridkv --version\nhybridkv 0.0.0\n"
                                          "$ hybridkv plan\nnothing\nexit code 1\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].output == "hybridkv 0.0.0\n");
  CHECK(shown_of(all[0].command) != all[0].output);
  CHECK(all[1].output == "nothing\nexit code 1\n");
  CHECK(shown_of(all[1].command).ends_with("exit code 2\n"));
}
