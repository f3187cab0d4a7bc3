// docs/questions.md: which engine answers which question and has which ability, as the program itself answers, and why
// not. HYBRIDKV_WRITE_ANSWERS=1 writes it anew.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "planner/engine_rules.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// What is asked: its name in the table, and the command. `{}` stands for flags of a model under an engine.
struct Asked {
  std::string name, command;
};

const std::string traffic = " --requests 20";

const std::vector<Asked> questions{
    {"`plan`", "plan {}"},
    {"`explain`", "explain {}"},
    {"`compare`", "compare {} --vary engine.tensor_parallel=1,2" + traffic},
    {"`simulate`", "simulate {}" + traffic},
    {"`simulate --losses`", "simulate {} --losses" + traffic},
    {"`sweep --simulate`", "sweep {} --set 'engine.tensor_parallel=[1,2]' --simulate --format csv" + traffic},
    {"`plot memory-curve`", "plot memory-curve {} --set simulate.trace.max_requests=20 -o plots --force"},
    {"`bound`", "bound {}" + traffic},
    {"`recommend`", "recommend {}" + traffic},
    {"`transfer`", "transfer {} --to-set engine.tensor_parallel=2 --tokens 4k"},
    {"`verify`", "verify {} --pack 1 --memory 700M -q"},
    {"`verify --forward`", "verify --forward {} --scale 64 -q"},
    {"`boot`", "boot {} --max-num-seqs 4"},
    {"`doctor`", "doctor {}"}};

const std::vector<Asked> abilities{
    {"requests beside each other", "simulate {} --driver closed_loop --in-flight 4" + traffic},
    {"requests by their timestamps",
     "simulate {} --driver open_loop --prefill-seconds 1e-4 --decode-seconds 1e-3" + traffic},
    {"memory of the host", "simulate {} --host-memory 1G" + traffic},
    {"policies of eviction", "simulate {} --eviction worth" + traffic},
    {"mode all", "plan {} --mode all"},
    {"packs of attention layers", "plan {} --pack 2"},
    {"drafts", "plan {} --set engine.speculative_tokens=2"},
    {"K and V with scales", "plan {} --kv-dtype nvfp4"},
    {"stages of a pipeline", "plan {} --set engine.pipeline_parallel=2"},
    {"another order of the cache", "plan {} --set engine.physical_order=hnd"}};

/// A log of the engine, with what it does not say; of engines whose logs nobody reads, vLLM's.
std::string log_of(const EngineRules& rules) {
  if (rules.name.starts_with("sglang")) return "sglang.txt";
  if (rules.name == "llama.cpp") return "llama-server.txt";
  if (rules.name == "tensorrt-llm") return "trtllm.txt --model Qwen3.5-4B --max-model-len 32k";
  return "server.txt";
}

std::string flags_of(const EngineRules& rules, const std::string& command) {
  const std::string release = fmt::format("--engine {}", rules.name);
  if (command.starts_with("doctor")) return fmt::format("{} --set engine.release={}", log_of(rules), rules.name);
  std::string flags = "--model Qwen3.5-4B " + release;
  if (command.find("--memory") == std::string::npos) flags += " --memory 3GiB";
  if (command.find("--mode ") == std::string::npos) flags += " --mode align";
  // Where it sizes the states of draft steps, it has to be said.
  const bool has_drafts = command.find("speculative_tokens") != std::string::npos;
  if (has_drafts && takes(rules, "max_running_requests")) flags += " --set engine.max_running_requests=4";
  // Where states are kept free for so many, 3 GiB do not hold those of its default, which takes no snapshot either.
  if (takes(rules, "max_batch_size"))
    flags += " --set engine.max_batch_size=4 --set 'engine.additional_snapshot_offsets_from_end=[0]'";
  return flags + " --max-model-len 4k";
}

/// Why the program does not answer; empty where it does. Points of a sweep say it in their row.
std::string refusal_of(const EngineRules& rules, const Asked& asked, const ScratchFolder& scratch) {
  const std::string command = fmt::format(fmt::runtime(asked.command), flags_of(rules, asked.command));
  const ProgramRun run = run_program(command, fmt::format("cd '{}' &&", scratch.path.string()));
  CAPTURE(command);
  CHECK(run.exit_code != 70);
  CHECK(run.exit_code < 128);
  if (run.exit_code != 2) {
    CHECK(run.output.find(",impossible,") == std::string::npos);
    return "";
  }
  // The reason stands behind the flag and the key that it is about, and is often that of other engines too.
  std::string line = run.output.substr(0, run.output.find('\n'));
  for (const std::string_view key : {"engine.", "simulate."})
    if (const std::size_t at = line.find(": " + std::string(key)); at != std::string::npos)
      line.erase(0, line.find(": ", at + 2) + 2);
  const std::string title(rules.title);
  for (std::size_t at = 0; (at = line.find(title, at)) != std::string::npos;) line.replace(at, title.size(), "it");
  return line;
}

/// An item of a list in lines of at most 120 columns.
std::string wrapped(std::string item) {
  for (std::size_t begin = 0; item.size() - begin > 121;) {
    const std::size_t at = item.rfind(' ', begin + 120);
    item.replace(at, 1, "\n   ");
    begin = at + 1;
  }
  return item;
}

/// A table, and below it the reasons by number; adds to `empty` the cells without an answer.
std::string table_of(const std::string& corner, const std::vector<Asked>& rows, const ScratchFolder& scratch,
                     std::size_t& empty) {
  std::string head = "| " + corner + " |", rule = "|---|", body;
  for (const EngineRules* const rules : all_engine_rules()) {
    head += fmt::format(" {} |", rules->name);
    rule += "---|";
  }
  std::vector<std::string> reasons;
  for (const Asked& asked : rows) {
    body += fmt::format("| {} |", asked.name);
    for (const EngineRules* const rules : all_engine_rules()) {
      const std::string refusal = refusal_of(*rules, asked, scratch);
      if (refusal.empty()) {
        body += " yes |";
        continue;
      }
      ++empty;
      const auto known = std::find(reasons.begin(), reasons.end(), refusal);
      body += fmt::format(" {} |", known - reasons.begin() + 1);
      if (known == reasons.end()) reasons.push_back(refusal);
    }
    body += "\n";
  }
  std::string text = head + "\n" + rule + "\n" + body + "\n";
  for (std::size_t i = 0; i < reasons.size(); ++i) text += wrapped(fmt::format("{}. {}\n", i + 1, reasons[i]));
  return text;
}

}  // namespace

TEST_CASE("docs: questions.md says which engine answers which question, and why not") {
  const ScratchFolder scratch;
  for (const char* log : {"server.txt", "sglang.txt", "trtllm.txt", "llama-server.txt"})
    std::filesystem::copy_file(std::filesystem::path(HYBRIDKV_SOURCE_DIR) / "docs/samples" / log, scratch.path / log);
  std::size_t unanswered = 0, unable = 0;
  const std::string answered = table_of("question", questions, scratch, unanswered);
  const std::string able = table_of("ability", abilities, scratch, unable);
  CHECK(unanswered <= 14);
  const std::string text = fmt::format(
      "# Which engine answers which question\n\n"
      "Asked of Qwen3.5-4B with 3 GiB, as a test asks the program itself. A number stands where there is no answer;\n"
      "the reason below it is what the program says. {} of {} are without one.\n\n{}\n"
      "# Which engine has which ability\n\n"
      "Replays are asked beyond one request at a time, plans beyond the defaults.\n\n{}",
      unanswered, questions.size() * all_engine_rules().size(), answered, able);
  const std::filesystem::path file = HYBRIDKV_SOURCE_DIR "/docs/questions.md";
  if (std::getenv("HYBRIDKV_WRITE_ANSWERS") != nullptr) std::ofstream(file, std::ios::binary) << text;
  CHECK(text == text_of(file));
}
