// `sweep` and `merge` from outside.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::ScratchFolder;
using testing::text_of;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Rows of a sweep in JSON Lines.
std::vector<json> swept_rows(const std::string& arguments) {
  const ProgramRun run = run_program("sweep " + arguments + " --quiet");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  std::vector<json> rows;
  for (const std::string& line : lines_of(run.output)) rows.push_back(json::parse(line));
  return rows;
}

/// Runs a sweep that must end well; returns the bytes of its file.
std::string swept(const std::string& arguments, const fs::path& file) {
  const ProgramRun run = run_program("sweep " + arguments + " --quiet -o '" + file.string() + "'");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return text_of(file);
}

/// Starts `hybridkv sweep` and kills it without warning once its file has grown by so many bytes and a while has
/// passed; false where it had ended before.
bool kill_when_grown(std::vector<std::string> arguments, const fs::path& file, std::uintmax_t bytes,
                     std::chrono::microseconds wait) {
  const auto size = [&] {
    std::error_code error;
    const std::uintmax_t now = fs::file_size(file, error);
    return error ? 0 : now;
  };
  const std::uintmax_t before = size();
  arguments.insert(arguments.begin(), {HYBRIDKV_PROGRAM, "sweep"});
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, HYBRIDKV_PROGRAM, nullptr, nullptr, words.data(), environ) == 0);
  int status = 0;
  while (size() < before + bytes) {
    if (waitpid(child, &status, WNOHANG) == child) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::this_thread::sleep_for(wait);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

const std::string small_sweep = "qwen3.5-397b --pack 1..16 --tp 1,2,4 --memory 1GiB,40GiB";  // 96 points

}  // namespace

TEST_CASE("golden: rows hold the numbers of plan --format csv, point by point") {
  const std::vector<json> rows = swept_rows("qwen3.5-397b --tp 1,2");
  REQUIRE(rows.size() == 14);
  for (int tp : {1, 2}) {
    const ProgramRun plan = run_program("plan qwen3.5-397b --format csv --tp " + std::to_string(tp));
    const std::vector<std::string> lines = lines_of(plan.output);
    REQUIRE(lines.size() == 8);
    const auto fields = [](const std::string& line) {
      std::vector<std::string> parts;
      std::istringstream stream(line);
      for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
      return parts;
    };
    const std::vector<std::string> names = fields(lines[0]);
    for (std::size_t pack = 0; pack < 7; ++pack) {
      const json& row = rows[static_cast<std::size_t>(tp - 1) * 7 + pack];
      const std::vector<std::string> values = fields(lines[pack + 1]);
      CHECK(row["engine.tensor_parallel"] == tp);
      CHECK(row["status"] == "ok");
      for (std::size_t i = 3; i < names.size(); ++i) {  // after model, ranks and release
        CAPTURE(names[i]);
        REQUIRE(row.contains(names[i]));
        CHECK((row[names[i]].is_string() ? row[names[i]].get<std::string>() : row[names[i]].dump()) == values[i]);
      }
    }
  }
}

TEST_CASE("golden: rows hold the numbers of simulate --format json") {
  const std::string question = "qwen3.5-397b --requests 400 --set simulate.driver=closed_loop";
  const std::vector<json> rows =
      swept_rows(question + " --pack 1,5 --simulate --set simulate.trace.synthetic.seed='[1, 2]'");
  REQUIRE(rows.size() == 4);
  for (const json& row : rows) {
    const std::string seed = row["simulate.trace.synthetic.seed"].dump();
    const ProgramRun run = run_program("simulate " + question + " --quiet --format json --seed " + seed + " --pack " +
                                       row["engine.attention_pack_size"].dump());
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    const json simulated = json::parse(run.output)["caches"][0];
    for (const char* name : {"requests", "prompt_tokens", "hit_tokens", "requests_with_hit", "checkpoints_made",
                             "checkpoints_used", "evictions", "max_held_blocks", "preemptions", "reprefilled_tokens"}) {
      CAPTURE(name);
      CHECK(row[name] == simulated[name]);
    }
  }
  CHECK(rows[0]["hit_tokens"] != rows[3]["hit_tokens"]);
}

TEST_CASE("edge: every impossible point is a row with its reason") {
  const std::vector<json> rows = swept_rows(
      "qwen3.5-397b --tp 1,3,4 --memory 200MiB,40GiB --pack 1,4 --set engine.kernel_block_sizes='[[16], [100]]'");
  REQUIRE(rows.size() == 24);
  int impossible = 0;
  for (const json& row : rows) {
    CAPTURE(row.dump());
    const bool ok = row["status"] == "ok";
    CHECK(row["reason"].is_null() == ok);
    CHECK(row["num_blocks"].is_null() == !ok);
    if (ok) continue;
    ++impossible;
    const std::string reason = row["reason"];
    CHECK(reason.find('\n') == std::string::npos);
    if (row["engine.tensor_parallel"] == 3) CHECK(reason.starts_with("engine.tensor_parallel: "));
  }
  CHECK(impossible == 16);
  CHECK(contains(rows[0]["reason"], "engine.memory: 209715200 bytes (200.00 MiB) are too little: one request of"));
}

TEST_CASE("edge: what the simulator refuses has its reason too, in the words of the scenario") {
  const std::vector<json> rows = swept_rows("qwen3.5-397b --pack 1,5 --simulate --requests 50 --set "
                                         "simulate.match_unit_tokens='[16, 48, 100]'");
  REQUIRE(rows.size() == 6);
  CHECK(rows[0]["status"] == "ok");
  CHECK(rows[1]["reason"] == "simulate.match_unit_tokens: 48 does not divide the block of 2096 tokens");
  CHECK(rows[1]["num_blocks"] == 1334);
  CHECK(rows[1]["hit_tokens"].is_null());
  CHECK(rows[4]["status"] == "ok");
  CHECK(rows[5]["status"] == "impossible");
}

TEST_CASE("golden: a sweep that verifies says what was found") {
  const std::vector<json> rows =
      swept_rows("--model Qwen3.5-0.8B --memory 40MiB --max-model-len 100 --pack 3,6 --engine vllm-2026-06 --verify "
              "--set verify.requests='[[30], [100000]]' --set verify.pack_sizes=3");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["verification"] == "passed");
  CHECK(rows[0]["status"] == "ok");
  CHECK(rows[1]["verification"] == "not asked");  // N = 6
  CHECK(rows[2]["status"] == "impossible");
  CHECK(rows[2]["verification"].is_null());
  CHECK(contains(rows[2]["reason"], "needs 530 blocks, the pools have 16 usable ones"));
}

TEST_CASE("golden: models as a list, and null for the default of a key") {
  const std::vector<json> rows = swept_rows("--model Qwen3.5-4B,Qwen3.5-9B --memory 40GiB --max-model-len 32768 --set "
                                         "engine.block_size_tokens='[null, 256]'");
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[i]["model"] == (i % 2 == 0 ? "Qwen3.5-4B" : "Qwen3.5-9B"));
    CHECK(rows[i]["engine.block_size_tokens"] == (i < 2 ? json() : json(256)));
    CHECK(rows[i]["block_size_tokens"] == (i < 2 ? 576 : 768));
  }
}

TEST_CASE("law: the bytes do not depend on the threads, and CSV and JSON Lines say the same") {
  const ScratchFolder folder;
  const std::string jsonl = swept(small_sweep + " --threads 1", folder.path / "1.jsonl");
  CHECK(swept(small_sweep + " --threads 2", folder.path / "2.jsonl") == jsonl);
  CHECK(swept(small_sweep + " --threads 5", folder.path / "5.jsonl") == jsonl);
  CHECK(run_program("sweep " + small_sweep + " --quiet").output == jsonl);
  const std::vector<std::string> csv = lines_of(swept(small_sweep, folder.path / "rows.csv"));
  const std::vector<std::string> rows = lines_of(jsonl);
  REQUIRE(rows.size() == 96);
  REQUIRE(csv.size() == 97);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = nlohmann::ordered_json::parse(rows[i]);
    std::string heading;
    for (const auto& item : row.items()) heading += (heading.empty() ? "" : ",") + item.key();
    CHECK(csv[0] == heading);
    CHECK(contains(csv[i + 1], "," + row["point"].dump() + "," + row["status"].get<std::string>() + ","));
    if (row["status"] == "ok") CHECK(contains(csv[i + 1], "," + row["kv_cache_tokens"].dump() + ","));
  }
  const ProgramRun again = run_program("sweep " + small_sweep + " -o '" + (folder.path / "1.jsonl").string() + "'");
  CHECK(again.exit_code == 2);
  CHECK(contains(again.output, "holds rows already; continue them with --resume, or remove the file"));
}

TEST_CASE("law: killed at ten random moments and resumed, the file is that of an undisturbed run") {
  const ScratchFolder folder;
  const std::vector<std::string> words{"qwen3.5-397b", "--pack", "1..16", "--tp", "1,2,4", "--memory",
                                       "1GiB..60GiB",  "--max-model-len", "8192,32768,65536", "--quiet"};
  std::string question;
  for (const std::string& word : words) question += word + " ";
  const std::string undisturbed = swept(question, folder.path / "whole.csv");
  REQUIRE(lines_of(undisturbed).size() == 8'641);
  const fs::path file = folder.path / "killed.csv";
  std::vector<std::string> arguments = words;
  arguments.insert(arguments.end(), {"--resume", "-o", file.string()});
  std::mt19937_64 random(6);
  int killed = 0;
  for (int i = 0; i < 100 && killed < 10; ++i) {
    const std::uintmax_t bytes = random() % (undisturbed.size() / 12);
    const bool in_time = kill_when_grown(arguments, file, bytes, std::chrono::microseconds(random() % 3000));
    const std::string partial = text_of(file);
    REQUIRE(undisturbed.starts_with(partial));
    const bool is_whole = partial.size() == undisturbed.size();
    REQUIRE((in_time || is_whole));
    // On a busy machine a kill may come behind the last row; then it begins anew.
    if (is_whole) fs::remove(file);
    else ++killed;
  }
  CHECK(killed == 10);
  const ProgramRun last = run_program("sweep " + question + "--resume -o '" + file.string() + "'");
  CHECK(last.exit_code == 0);
  CHECK(text_of(file) == undisturbed);
}

TEST_CASE("fault: one row with a fault is exit code 1, also where it was there before the sweep went on") {
  const ScratchFolder folder;
  const fs::path file = folder.path / "rows.jsonl";
  const std::string arguments = "sweep --model Qwen3.5-0.8B --memory 3GiB --max-model-len 4k --pack 1,2 --resume -o '" +
                                file.string() + "'";
  CHECK(run_program(arguments).exit_code == 0);
  std::string rows = text_of(file);
  const std::string ok = "\"status\":\"ok\"";
  REQUIRE(contains(rows, ok));
  std::ofstream(file, std::ios::binary) << rows.replace(rows.find(ok), ok.size(), "\"status\":\"fault\"");
  const ProgramRun run = run_program(arguments);
  CHECK(contains(run.output, "1 ok, 0 impossible, 1 with a fault"));
  CHECK(run.exit_code == 1);
}

TEST_CASE("edge: a torn last line is cut off, wherever it is torn") {
  const ScratchFolder folder;
  for (const char* name : {"rows.csv", "rows.jsonl"}) {
    const fs::path file = folder.path / name;
    const std::string whole = swept(small_sweep, file);
    const std::size_t size = whole.size();
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, whole.find('\n'), whole.find('\n') + 1, size / 2, size - 1, size}) {
      CAPTURE(bytes);
      fs::resize_file(file, bytes);
      CHECK(swept(small_sweep + " --resume", file) == whole);
    }
  }
}

TEST_CASE("edge: a file of another sweep, shard or program is not continued") {
  const ScratchFolder folder;
  const fs::path file = folder.path / "rows.jsonl";
  const std::string whole = swept(small_sweep, file);
  const std::string to_file = " --resume -o '" + file.string() + "'";
  const std::string other =
      "scenario, overrides, trace, options or program differ; --resume continues only what the same "
      "command began";
  require_refused("sweep " + small_sweep + " --set engine.mtp_layers=1" + to_file, other);
  require_refused("sweep " + small_sweep + ",80GiB" + to_file, other);
  require_refused("sweep " + small_sweep + " --simulate" + to_file, other);
  require_refused("sweep " + small_sweep + " --format csv" + to_file, "rows.jsonl:1: is not the heading of this sweep");
  require_refused("sweep " + small_sweep + " --shard 2/3" + to_file,
                  "rows.jsonl:1: holds point 0 where point 1 of this shard belongs");
  std::ofstream(file) << "something\nelse\n";
  require_refused("sweep " + small_sweep + to_file, "rows.jsonl:1: is no row of a sweep");
  CHECK(text_of(file) == "something\nelse\n");
  const std::string lines = whole.substr(0, whole.find('\n') + 1);
  std::ofstream(file) << lines << lines;
  require_refused("sweep " + small_sweep + to_file, "rows.jsonl:2: holds point 0 where point 1 of this shard belongs");
  require_refused("sweep " + small_sweep + " --resume", "--resume continues a file; name it with -o FILE");
}

TEST_CASE("fault: a file that another sweep is writing is left to it") {
  const ScratchFolder folder;
  const fs::path file = folder.path / "rows.jsonl";
  const std::string whole = swept(small_sweep, file);
  const int other = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(other >= 0);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  require_refused("sweep " + small_sweep + " --resume -o '" + file.string() + "'", "another sweep is writing it");
  CHECK(text_of(file) == whole);
  ::close(other);
  CHECK(swept(small_sweep + " --resume", file) == whole);
}

TEST_CASE("law: shards put together are the bytes of one run, in any order") {
  const ScratchFolder folder;
  for (const std::string ending : {".jsonl", ".csv"}) {
    const std::string whole = swept(small_sweep, folder.path / ("whole" + ending));
    for (const int shards : {1, 2, 5}) {
      std::string files;
      for (int i = 1; i <= shards; ++i) {
        const std::string shard = std::to_string(i) + "/" + std::to_string(shards);
        const fs::path file = folder.path / (std::to_string(shards) + "-" + std::to_string(i) + ending);
        swept(small_sweep + " --shard " + shard, file);
        files = "'" + file.string() + "' " + files;
      }
      const fs::path merged = folder.path / ("merged" + ending);
      const ProgramRun run = run_program("merge " + files + " --force -o '" + merged.string() + "'");
      CAPTURE(run.output);
      CHECK(run.exit_code == 0);
      CHECK(contains(run.output, std::to_string(shards) + (shards == 1 ? " file" : " files") + ", 96 points: "));
      CHECK(text_of(merged) == whole);
      CHECK(run_program("merge " + files + " --quiet").output == whole);
    }
  }
  // More shards than points: some files hold none.
  std::string files;
  for (int i = 1; i <= 3; ++i) {
    const fs::path file = folder.path / ("few-" + std::to_string(i) + ".csv");
    swept("qwen3.5-397b --pack 1,2 --shard " + std::to_string(i) + "/3", file);
    files += "'" + file.string() + "' ";
  }
  CHECK(run_program("merge " + files + " --quiet").output == swept("qwen3.5-397b --pack 1,2", folder.path / "few.csv"));
}

TEST_CASE("edge: shards that are missing, unfinished, doubled or of another sweep are not merged") {
  const ScratchFolder folder;
  const auto path = [&](const char* name) { return (folder.path / name).string(); };
  const std::string first = path("1.jsonl"), second = path("2.jsonl"), other = path("other.jsonl"), out = path("out");
  swept(small_sweep + " --shard 1/2", first);
  const std::string whole_second = swept(small_sweep + " --shard 2/2", second);
  swept(small_sweep + " --set engine.mtp_layers=1 --shard 2/2", other);
  require_refused("merge " + first + " -o " + out, "point 1 of 0 to 95 is in none of the 1 files: a shard is missing");
  require_refused("merge " + first + " " + second + " " + second + " -o " + out,
                  "2.jsonl:1: holds point 1, which another file holds too");
  const std::string last = path("last.jsonl");
  std::ofstream(last) << whole_second.substr(whole_second.rfind('\n', whole_second.size() - 2) + 1);
  require_refused("merge " + first + " " + second + " " + last + " -o " + out,
                  "holds point 95, which another file holds too");
  require_refused("merge " + first + " " + other + " -o " + out, "other.jsonl is of another sweep than " + first);
  fs::resize_file(second, whole_second.size() - 5);
  require_refused("merge " + first + " " + second + " -o " + out, "2.jsonl:48: the last line is torn");
  fs::resize_file(second, whole_second.rfind('\n', whole_second.size() - 2) + 1);
  require_refused("merge " + first + " " + second + " -o " + out, "point 95 of 0 to 95 is in none of the 2 files");
  const std::vector<std::string> rows = lines_of(whole_second);
  std::ofstream(second) << rows[0] << '\n' << rows[0] << '\n';
  require_refused("merge " + first + " " + second + " -o " + out,
                  "2.jsonl:2: point 1 after point 1; rows stand in their order");
  std::ofstream(second) << rows[0] << '\n' << rows[1] << '\n' << rows[0] << '\n';
  require_refused("merge " + first + " " + second + " -o " + out,
                  "2.jsonl:3: point 1 after point 3; rows stand in their order");
  require_refused("merge " + first + " " + path("nowhere") + " -o " + out, "nowhere: cannot be read: No such file");
  require_refused("merge " HYBRIDKV_SOURCE_DIR "/README.md", "README.md:1: is no row of a sweep");
  CHECK(!fs::exists(out));
  CHECK(!fs::exists(out + ".part"));
}

TEST_CASE("golden: the Slurm array script, its body run for every index, and once more for a killed task") {
  const ScratchFolder folder;
  const auto task = [&](int index) {
    return "SLURM_ARRAY_TASK_ID=" + std::to_string(index) +
           " SLURM_ARRAY_TASK_COUNT=4 SLURM_CPUS_PER_TASK=2 HYBRIDKV='" HYBRIDKV_PROGRAM "' SWEEP_DIR='" +
           folder.path.string() + "/rows' bash '" HYBRIDKV_SOURCE_DIR "/docs/sweep.slurm' " + small_sweep + " 2>&1";
  };
  for (int index = 1; index <= 4; ++index) CHECK(WEXITSTATUS(std::system((task(index) + " >/dev/null").c_str())) == 0);
  fs::resize_file(folder.path / "rows/shard-3.jsonl", 5'000);
  CHECK(WEXITSTATUS(std::system((task(3) + " >/dev/null").c_str())) == 0);
  CHECK(WEXITSTATUS(std::system((task(0) + " >/dev/null").c_str())) == 2);
  const ProgramRun merged = run_program("merge '" + folder.path.string() + "'/rows/shard-*.jsonl --quiet");
  CHECK(merged.exit_code == 0);
  CHECK(merged.output == swept(small_sweep, folder.path / "whole.jsonl"));
}

TEST_CASE("golden: a dry run counts the points of a huge sweep, a wrong value is shown at its place") {
  const ProgramRun run = run_program("sweep qwen3.5-397b --dry-run --pack 1..16 --memory 1..10000 --set "
                                     "engine.num_blocks=1..10000 --set engine.max_num_batched_tokens=1..10000");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "16,000,000,000,000 points"));
  CHECK(contains(run.output, "engine.num_blocks              10,000  1, 2, 3, 4, …, 10000"));
  require_refused("sweep qwen3.5-397b --set engine.tensor_parallel='[1, x]'",
                  "--set engine.tensor_parallel=[1, x]: engine.tensor_parallel: 'x' is not a whole number");
  const ScratchFolder folder;
  const std::string scenario = folder.file(
      "my.yaml", "model: Qwen3.5-4B\nengine: {memory: 20 GiB, tensor_parallel: [1, 0]}\nlimits: {max_model_len: 1}\n");
  require_refused("sweep " + scenario, "my.yaml:2:47: engine.tensor_parallel: 0 is too small");
  require_refused("sweep qwen3.5-397b --shard 3/2", "--shard 3/2: write I/N with I from 1 to N, like 2/8");
  require_refused("sweep qwen3.5-397b -o /no/such/folder/x.csv",
                  "-o /no/such/folder/x.csv: cannot be written: No such file");
}

TEST_CASE("golden: a sweep as a table, as a pivot in Markdown, and into a file that is not replaced") {
  const std::string asked = "sweep --model Qwen3.5-4B --memory 20GiB --max-model-len 8k --tp 1,3 --kv-dtype bf16,fp8 ";
  const ProgramRun table = run_program(asked + "--format table --quiet");
  CHECK(table.exit_code == 0);
  CHECK(contains(table.output, "tensor_parallel  kv_dtype  block size tokens  bytes per request  usable "));
  CHECK(contains(table.output, "! 2 points: "));
  const ProgramRun pivot = run_program(asked + "--format markdown --pivot block_size_tokens --quiet");
  CHECK(contains(pivot.output, "| tensor_parallel | kv_dtype bf16 | kv_dtype fp8 |\n"));
  CHECK(contains(pivot.output, "| 1 | 576 | 1,088 |\n| 3 |  |  |\n"));
  const ScratchFolder folder;
  const std::string file = (folder.path / "pivot.md").string();
  CHECK(run_program(asked + "--format markdown --pivot block_size_tokens -o '" + file + "' --quiet").exit_code == 0);
  CHECK(text_of(file) == pivot.output);
  require_refused(asked + "--format table -o '" + file + "'", "pivot.md: ");
  CHECK(text_of(file) == pivot.output);
  require_refused(asked + "--pivot block_size_token", "did you mean 'block_size_tokens'?");
  require_refused(asked + "--format csv --pivot page_bytes", "take --format table or markdown");
  require_refused("sweep qwen3.5-397b --pack 1..16 --set engine.num_blocks=1..1000 --format table",
                  "16,000 points are too many for a table, which takes 10,000; take --format csv or jsonl");
}

TEST_CASE("edge: a pivot sets no axis across that a zip ties to another one, and any that stands alone") {
  const std::string asked = "sweep --model Qwen3.5-4B --max-model-len 8k --tp 1,2 --memory 10G,20G --kv-dtype bf16,fp8 "
                            "--pivot block_size_tokens --format markdown --quiet --zip ";
  require_refused(asked + "tensor_parallel,kv_dtype", "--pivot block_size_tokens: sets engine.kv_dtype across, which "
                                                      "--zip tensor_parallel,kv_dtype ties to others");
  const ProgramRun alone = run_program(asked + "tensor_parallel,memory");
  CAPTURE(alone.output);
  CHECK(alone.exit_code == 0);
  CHECK(contains(alone.output, "| tensor_parallel | memory | kv_dtype bf16 | kv_dtype fp8 |\n"));
  CHECK(contains(alone.output, "\n| 1 | 10G | "));
  CHECK(contains(alone.output, "\n| 2 | 20G | "));
  CHECK_FALSE(contains(alone.output, "\n| 1 | 20G | "));
}

TEST_CASE("edge: --zip takes one word, so that a scenario may stand behind it") {
  const ProgramRun run = run_program("sweep --zip tensor_parallel,memory qwen3.5-397b --pack 1 --tp 1,2,4 "
                                     "--memory 80G,40G,20G --dry-run");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "\n3 points\n"));
}
