// What commands write, from outside: only regular files are replaced, no file of the user's is lost.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::run_shell;
using testing::ScratchFolder;
using testing::text_of;
namespace fs = std::filesystem;

namespace {

/// Names below a folder, hidden ones too.
std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

/// Device nodes of this test's own, never those of the machine; false, with a message, where that is not permitted.
bool make_devices(const fs::path& folder) {
  if (::mknod((folder / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0 &&
      ::mknod((folder / "full").c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0)
    return true;
  std::printf("SKIPPED: device nodes cannot be made here\n");
  return false;
}

/// A folder with the two shards of a small sweep, a published config, and a trace.
struct Inputs {
  ScratchFolder folder;
  std::string in = "cd '" + folder.path.string() + "' && ";
  Inputs() {
    for (const char* shard : {"1/2", "2/2"}) {
      const std::string file = std::string("rows-") + shard[0] + ".jsonl";
      REQUIRE(run_shell(in + "\"$HYBRIDKV\" sweep qwen3.5-397b --pack 1..6 --shard " + shard + " -q -o " + file)
                  .exit_code == 0);
    }
    folder.file("config.json",
                R"({"model_type": "jamba", "dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "attn_layer_period": 2, "attn_layer_offset": 1,
      "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2, "expert_layer_period": 2, "expert_layer_offset": 1})");
    folder.file("trace.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]})"
                               "\n");
  }
  ProgramRun run(const std::string& arguments) const { return run_shell(in + "\"$HYBRIDKV\" " + arguments); }
  std::string content(const char* name) const { return text_of(folder.path / name); }
};

const std::string simulate_trace = "simulate --block-size 16 --num-blocks 200 --trace trace.jsonl -q ";

/// Commands that write the file OUT.
const std::string commands_with_a_file[] = {"merge rows-1.jsonl rows-2.jsonl -q -o OUT",
                                            "import config.json -o OUT", simulate_trace + "--per-request OUT",
                                            "sweep qwen3.5-397b --pack 1 -q -o OUT"};

std::string with_output(std::string command, const std::string& output) {
  return command.replace(command.find("OUT"), 3, output);
}

}  // namespace

TEST_CASE("edge: every command writes to a device and a pipe, and leaves them what they are") {
  const Inputs inputs;
  const fs::path& folder = inputs.folder.path;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0666) == 0);
  const bool devices = make_devices(folder);
  for (const std::string& command : commands_with_a_file) {
    CAPTURE(command);
    const ProgramRun piped =
        run_shell(inputs.in + "{ cat pipe > copy & } ; \"$HYBRIDKV\" " + with_output(command, "pipe") + " ; wait");
    CAPTURE(piped.output);
    CHECK(fs::is_fifo(folder / "pipe"));
    CHECK(fs::file_size(folder / "copy") > 0);
    if (!devices) continue;
    CHECK(inputs.run(with_output(command, "null")).exit_code == 0);
    CHECK(fs::is_character_file(folder / "null"));
    const ProgramRun full = inputs.run(with_output(command, "full"));
    CHECK(full.exit_code == 3);
    CHECK(contains(full.output, "full: cannot be written: No space left on device"));
    CHECK(fs::is_character_file(folder / "full"));
  }
}

TEST_CASE(
    "edge: of a link every command replaces what it leads to; circles, folders and names too long are bad input") {
  const Inputs inputs;
  const fs::path& folder = inputs.folder.path;
  fs::create_directory(folder / "folder");
  fs::create_symlink("circle", folder / "circle");
  for (const std::string& command : commands_with_a_file) {
    CAPTURE(command);
    fs::remove(folder / "target");
    fs::create_symlink("target", folder / "link");
    CHECK(inputs.run(with_output(command, "link")).exit_code == 0);
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(fs::file_size(folder / "target") > 0);
    fs::remove(folder / "link");
    const std::set<std::string> before = names_in(folder);
    for (const auto& [name, reason] :
         {std::pair<std::string, const char*>{"circle", "circle: cannot be written: Too many levels of symbolic links"},
          {"folder", "folder: is a folder; name a file to write"},
          {std::string(300, 'x'), "cannot be written: File name too long"}}) {
      const ProgramRun run = inputs.run(with_output(command, name));
      CAPTURE(run.output);
      CHECK(run.exit_code == 2);
      CHECK(contains(run.output, reason));
    }
    CHECK(names_in(folder) == before);
  }
}

TEST_CASE("edge: files and folders of the user that end in .part are left alone") {
  const Inputs inputs;
  const fs::path& folder = inputs.folder.path;
  for (const char* name : {"out.part", "out.npy.part", "lse.npy.part"}) inputs.folder.file(name, "mine");
  fs::create_directory(folder / "export.part");
  inputs.folder.file("export.part/mine", "mine");
  for (const std::string& command : commands_with_a_file) {
    CHECK(inputs.run(with_output(command, "out")).exit_code == 0);
    fs::remove(folder / "out");
  }
  const std::string verify =
      "verify --model Qwen3.5-0.8B --memory 80MiB --max-model-len 100 --pack 3 --set verify.requests=[30] -q ";
  CHECK(inputs.run(verify + "--export export").exit_code == 0);
  CHECK(fs::exists(folder / "export" / "plan.json"));
  for (const char* name : {"out.part", "out.npy.part", "lse.npy.part", "export.part/mine"})
    CHECK(inputs.content(name) == "mine");
  fs::create_directory(folder / "empty");
  for (const char* name : {"export", "empty", "out.part"})
    CHECK(contains(inputs.run(verify + "--export " + name).output, "exists already; name a folder that does not"));
}

TEST_CASE("edge: what a command reads it does not write over, under whatever name") {
  const Inputs inputs;
  const fs::path& folder = inputs.folder.path;
  fs::create_symlink("trace.jsonl", folder / "link");
  fs::create_hard_link(folder / "trace.jsonl", folder / "hard");
  inputs.folder.file("my.yaml",
                     "model: {file: model.yaml}\nengine: {memory: 20 GiB}\nlimits: {max_model_len: 4096}\n"
                     "simulate: {trace: {file: trace.jsonl}}\n");
  REQUIRE(inputs.run("import config.json -o model.yaml").exit_code == 0);
  const std::string trace = inputs.content("trace.jsonl");
  const auto refused = [&](std::string arguments, const char* kept) {
    if (!arguments.starts_with("sweep")) arguments += " --force";
    CAPTURE(arguments);
    const std::string before = inputs.content(kept);
    const ProgramRun run = inputs.run(arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, "which would be overwritten; name another file to write"));
    CHECK(inputs.content(kept) == before);
    CHECK(!before.empty());
  };
  for (const char* name : {"trace.jsonl", "./trace.jsonl", "link", "hard"}) {
    refused(simulate_trace + "--per-request " + name, "trace.jsonl");
    refused(std::string("sweep qwen3.5-397b --pack 1 --simulate --trace trace.jsonl --resume -o ") + name,
            "trace.jsonl");
  }
  for (const char* name : {"my.yaml", "model.yaml", "trace.jsonl"})
    refused(std::string("simulate my.yaml -q --per-request ") + name, name);
  refused("sweep my.yaml -o my.yaml", "my.yaml");
  // Of a transfer the scenarios of both sides, and the model files that they name.
  inputs.folder.file("to.yaml",
                     "model: {file: other.yaml}\nengine: {memory: 20 GiB}\nlimits: {max_model_len: 4096}\n");
  fs::copy_file(folder / "model.yaml", folder / "other.yaml");
  for (const char* name : {"my.yaml", "to.yaml", "model.yaml", "other.yaml"})
    refused(std::string("transfer my.yaml to.yaml -q --export ") + name, name);
  refused("merge rows-1.jsonl rows-2.jsonl -o rows-1.jsonl", "rows-1.jsonl");
  refused("import config.json -o config.json", "config.json");
  refused("import . -o config.json", "config.json");
  refused("sweep --model . --memory 1G --max-model-len 4k -o config.json", "config.json");
  // A result that is a link to what it was made of.
  fs::copy(fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example", folder / "case");
  fs::create_symlink("q.npy", folder / "case" / "out.npy");
  refused("attend case", "case/q.npy");
}

TEST_CASE("edge: what a command writes replaces a file that exists only with --force, in folders too") {
  const Inputs inputs;
  struct Command {
    std::string words, file;
  };
  for (const Command& command :
       {Command{"merge rows-1.jsonl rows-2.jsonl -q -o out", "out"}, Command{"import config.json -o out", "out"},
        Command{simulate_trace + "--per-request out", "out"}, Command{"completions bash -o out", "out"},
        Command{"man plan --output .", "hybridkv-plan.1"},
        Command{"transfer qwen3.5-397b --pack 1 --to-set engine.tensor_parallel=4 --tokens 100 --export out -q", "out"},
        Command{"plot qwen3.5-397b block-size --pack 1 -q -o .", "block-size.gp"},
        Command{"plot qwen3.5-397b page-map --pack 1 -q -o .", "page-map-n1.svg"},
        Command{"report qwen3.5-397b --pack 1 --no-verify -q -o .", "report.md"}}) {
    CAPTURE(command.words);
    inputs.folder.file(command.file, "mine");
    const std::set<std::string> before = names_in(inputs.folder.path);
    const ProgramRun run = inputs.run(command.words);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, command.file + ": exists already; take another name, or --force to replace it"));
    CHECK(inputs.content(command.file.c_str()) == "mine");
    CHECK(names_in(inputs.folder.path) == before);
    CHECK(inputs.run(command.words + " --force").exit_code != 2);
    CHECK(inputs.content(command.file.c_str()) != "mine");
    fs::remove(inputs.folder.path / command.file);
  }
  inputs.folder.file("rows.jsonl", "mine");
  CHECK(inputs.run("sweep qwen3.5-397b --pack 1 -q -o rows.jsonl").exit_code == 2);
  CHECK(inputs.content("rows.jsonl") == "mine");
}

TEST_CASE("edge: the peers' table is refused a place before the work, and a new document gets its marks") {
  const Inputs inputs;
  inputs.folder.file("notes.md", "no marks\n");
  const std::string peers = "python3 '" HYBRIDKV_SOURCE_DIR "/bench/peers/peers.py' --output ";
  for (const auto& [name, reason] : {std::pair<const char*, const char*>{"notes.md", "lacks the lines <!-- peers.py: "},
                                     {"nowhere/new.md", "no file can be written there"},
                                     {".", "no file can be written there"}}) {
    const ProgramRun run = run_shell(inputs.in + peers + name + " 2>&1");
    CAPTURE(run.output);
    CHECK(run.exit_code == 1);
    CHECK(contains(run.output, reason));
  }
  CHECK(inputs.content("notes.md") == "no marks\n");
  const ProgramRun made =
      run_shell(inputs.in + "PYTHONPATH='" HYBRIDKV_SOURCE_DIR "/bench/peers' python3 -B -c "
                            "\"import pathlib, peers; print(peers.around_table(pathlib.Path('new.md')))\"");
  CHECK(contains(made.output, "begin"));
  CHECK(made.exit_code == 0);
}

TEST_CASE("fault: the peers' table says where ours is faster than the roofline that was measured for it") {
  const Inputs inputs;
  const auto table = [&](const std::string& products) {
    return run_shell(inputs.in + "PYTHONPATH='" HYBRIDKV_SOURCE_DIR "/bench/peers' python3 -B -c "
                                 "\"import argparse, peers; best = peers.Best(); "
                                 "[best.took((work, dtype, 1, side), seconds) for work, dtype in peers.ROWS "
                                 "for side, seconds in (('ours', 2.0), ('read', 0.1), ('products', " + products +
                     "))]; best.reached((1, 'read from L2'), 100.0); print(peers.table("
                     "argparse.Namespace(threads=[1], rounds=1), best, {}, {'simd': 'avx2'}, [], {}))\"");
  };
  const ProgramRun fine = table("1.5");
  CAPTURE(fine.output);
  CHECK(contains(fine.output, "| decode 32q1s4k fp32 | 1 | 2000.0 ms | - | 1500.0 ms (products) | 0.75 |"));
  CHECK(contains(fine.output, "| read from L2 | 100 GB/s |"));
  CHECK_FALSE(contains(fine.output, "measured wrongly"));
  CHECK(contains(table("2.5").output, "prefill q2k bf16, threads 1: ours is at 1.25 of its roofline, which"));
}

TEST_CASE("edge: --resume changes no byte of a file that it did not write") {
  const Inputs inputs;
  const std::string sweep = "sweep qwen3.5-397b --pack 1..6 -q --resume -o ";
  REQUIRE(inputs.run(sweep + "whole.jsonl").exit_code == 0);
  const std::string whole = inputs.content("whole.jsonl");
  const std::string row = whole.substr(0, whole.find('\n') + 1);
  for (const std::string& text :
       {std::string("a note without a line feed"), row + "note", whole + "note", std::string("{"), std::string("\0", 1),
        row.substr(0, 40) + "X", std::string("sweep,points,poin")}) {
    CAPTURE(text);
    const bool is_own = whole.starts_with(text);
    inputs.folder.file("rows.jsonl", text);
    const ProgramRun run = inputs.run(sweep + "rows.jsonl");
    CAPTURE(run.output);
    CHECK(run.exit_code == (is_own ? 0 : 2));
    CHECK(contains(run.output, "that this sweep did not write; nothing is changed") == !is_own);
    CHECK(inputs.content("rows.jsonl") == (is_own ? whole : text));
  }
  inputs.folder.file("rows.csv", "another heading without a line feed");
  CHECK(inputs.run(sweep + "rows.csv").exit_code == 2);
  CHECK(inputs.content("rows.csv") == "another heading without a line feed");
  fs::resize_file(inputs.folder.file("huge", ""), std::uintmax_t{1} << 34);  // no line ends in it
  CHECK(contains(inputs.run(sweep + "huge").output, "a line of more than 64 MiB, which is no row of a sweep"));
  CHECK(contains(inputs.run("merge huge").output, "a line of more than 64 MiB, which is no row of a sweep"));
}

TEST_CASE("edge: a sweep that fails before its first row leaves no file") {
  const Inputs inputs;
  CHECK(inputs.run("sweep qwen3.5-397b --simulate --trace nowhere.jsonl -o new.jsonl").exit_code == 2);
  inputs.folder.file("bad.jsonl", "no trace\n");
  CHECK(inputs.run("sweep qwen3.5-397b --pack 1 --simulate --trace bad.jsonl -o new.jsonl").exit_code == 2);
  CHECK(inputs.run(simulate_trace + "--trace bad.jsonl --per-request new.jsonl").exit_code == 2);
  CHECK_FALSE(fs::exists(inputs.folder.path / "new.jsonl"));
}

TEST_CASE("edge: - is standard input of merge and standard output of merge, import and sweep") {
  const Inputs inputs;
  const std::string merged = inputs.run("merge rows-1.jsonl rows-2.jsonl -q").output;
  CHECK(inputs.run("merge - rows-2.jsonl -q -o - < rows-1.jsonl").output == merged);
  CHECK(run_shell(inputs.in + "cat rows-2.jsonl | \"$HYBRIDKV\" merge rows-1.jsonl - -q").output == merged);
  CHECK(inputs.run("sweep qwen3.5-397b --pack 1..6 -q -o -").output == merged);
  CHECK(inputs.run("import config.json -o -").output == inputs.run("import config.json").output);
  CHECK(contains(inputs.run("merge - - < rows-1.jsonl").output, "standard input can be read once"));
  CHECK(contains(inputs.run("merge - rows-2.jsonl < trace.jsonl").output, "standard input:1: is no row of a sweep"));
  CHECK(contains(inputs.run("merge . rows-2.jsonl").output, ".: cannot be read: Is a directory"));
  CHECK_FALSE(fs::exists(inputs.folder.path / "-"));
}

TEST_CASE("edge: a folder that cannot be written to is found out before the work, and none is left behind") {
  const Inputs inputs;
  inputs.folder.file("file", "text");
  const std::set<std::string> before = names_in(inputs.folder.path);
  for (const char* name : {"file", "file/below", "/proc/self/x"}) {
    CAPTURE(name);
    // A model whose verification takes minutes; the folder comes first.
    for (const std::string command : {"report qwen3.5-397b -q -o ", "plot qwen3.5-397b -q -o "}) {
      const ProgramRun run = inputs.run(command + name);
      CAPTURE(run.output);
      CHECK(run.exit_code == 2);
      CHECK(contains(run.output, "is no folder and cannot be made one"));
    }
  }
  CHECK(inputs
            .run("plot qwen3.5-397b hit-rate --set engine.max_num_batched_tokens=256 --set engine.cache_mode=align -q "
                 "-o a/b")
            .exit_code == 2);
  CHECK(inputs.run("report nowhere -q -o a/b").exit_code == 2);
  CHECK(names_in(inputs.folder.path) == before);
}

TEST_CASE("fault: where the disk gets full no picture is cut and no file empty, and the exit code says so") {
  const Inputs inputs;
  const std::string plot = "\"$HYBRIDKV\" plot qwen3.5-397b block-size page-map --pack 1 -q -o plots";
  const ProgramRun limited = run_shell(inputs.in + "ulimit -f 8 && " + plot);  // a limit stands for the disk
  CAPTURE(limited.output);
  CHECK(limited.exit_code == 3);
  CHECK(contains(limited.output, "cannot be written: File too large"));
  for (const auto& entry : fs::directory_iterator(inputs.folder.path / "plots")) {
    CHECK(entry.path().extension() != ".part");
    CHECK(entry.path().extension() != ".svg");
    CHECK(entry.file_size() > 0);
  }
  const ProgramRun report =
      run_shell(inputs.in + "ulimit -f 8 && \"$HYBRIDKV\" report qwen3.5-397b --pack 1 --no-verify -q -o report");
  CHECK(report.exit_code == 3);
  CHECK_FALSE(fs::exists(inputs.folder.path / "report" / "report.html"));
}

TEST_CASE("fault: a full disk, where one can be mounted") {
  const Inputs inputs;
  const std::string disk = (inputs.folder.path / "disk").string();
  fs::create_directory(disk);
  if (run_shell("unshare -m true 2>/dev/null").exit_code != 0)
    return void(std::printf("SKIPPED: nothing can be mounted here\n"));
  const ProgramRun run = run_shell(
      inputs.in +
      "unshare -m sh -c 'mount -t tmpfs -o size=32k tmpfs disk && \"$HYBRIDKV\" plot qwen3.5-397b "
      "block-size --pack 1..6 -q -o disk/plots; echo \"exit $?\"; ls -A disk/plots; find disk -size 0 -type f'");
  CAPTURE(run.output);
  if (!contains(run.output, "exit ")) return void(std::printf("SKIPPED: nothing can be mounted here\n"));
  CHECK(contains(run.output, "exit 3"));
  CHECK(contains(run.output, "No space left on device"));
  CHECK(contains(run.output, "block-size.gp"));
  CHECK_FALSE(contains(run.output, "block-size.svg\n"));
  CHECK_FALSE(contains(run.output, ".part"));
}

TEST_CASE(
    "fault: a drawing program that gives half a picture is noticed, leaves what was there and draws all other plots") {
  const Inputs inputs;
  fs::create_directory(inputs.folder.path / "bin");
  const std::string gnuplot = inputs.folder.file(
      "bin/gnuplot", "#!/bin/sh\ncase \"$*\" in\n*block-size*) echo '<svg>' ;;\n*) echo '<svg></svg>' ;;\nesac\n");
  fs::permissions(gnuplot, fs::perms::owner_all);
  fs::create_directory(inputs.folder.path / "plots");
  inputs.folder.file("plots/block-size.svg", "of an earlier run");
  const ProgramRun run =
      run_shell(inputs.in + "PATH=\"$PWD/bin:$PATH\" \"$HYBRIDKV\" plot qwen3.5-397b block-size concurrency --pack 1 "
                            "-q --force -o plots");
  CAPTURE(run.output);
  CHECK(run.exit_code == 4);
  CHECK(contains(run.output, "gnuplot could not draw block-size.gp (exit code 0)"));
  CHECK(inputs.content("plots/block-size.svg") == "of an earlier run");
  CHECK(contains(inputs.content("plots/concurrency.svg"), "</svg>"));
}
