// The process around the commands: streams that are closed or full, limits, signals, names that are no names.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::run_program;
using testing::run_shell;
using testing::ScratchFolder;
using testing::text_of;
namespace fs = std::filesystem;

namespace {

const std::string small_plan = "plan qwen3.5-397b --pack 1";

/// One command of each kind that writes its result to standard output.
const std::string harmless_commands[] = {"--help",
                                "--version",
                                "plan --help",
                                small_plan,
                                small_plan + " --format json",
                                "explain qwen3.5-397b --pack 1",
                                "models",
                                "simulate --block-size 16 --num-blocks 200 --requests 20 -q",
                                "sweep qwen3.5-397b --pack 1 -q",
                                "sweep qwen3.5-397b --dry-run",
                                "verify --model Qwen3.5-0.8B --memory 80MiB --max-model-len 100 --pack 3 --set "
                                "verify.requests=[30] -q"};

}  // namespace

TEST_CASE("edge: a standard output that is full or closed is exit code 3 and a message, of every command") {
  for (const std::string& command : harmless_commands) {
    CAPTURE(command);
    const ProgramRun full = run_shell("\"$HYBRIDKV\" " + command + " > /dev/full");
    CHECK(full.exit_code == 3);
    CHECK(contains(full.output, "standard output: cannot be written: No space left on device"));
    const ProgramRun closed = run_shell("\"$HYBRIDKV\" " + command + " >&-");
    CHECK(closed.exit_code == 3);
    CHECK(contains(closed.output, "standard output: cannot be written: Bad file descriptor"));
  }
}

TEST_CASE("edge: a standard error that is full or closed changes neither the result nor the exit code") {
  const ScratchFolder folder;
  const std::string in = "cd '" + folder.path.string() + "' && \"$HYBRIDKV\" ";
  for (const char* where : {"2>/dev/full", "2>&-", "0<&- 2>&-"}) {
    CAPTURE(where);
    CHECK(run_shell(in + "plan nowhere " + where).exit_code == 2);
    CHECK(run_shell(in + "nonsense " + where).exit_code == 2);
    CHECK(run_shell(in + small_plan + " " + where).output == run_program(small_plan).output);
    // The file gets the first free descriptor, which must not be that of standard error.
    CHECK(run_shell(in + "sweep qwen3.5-397b --pack 1..6 -o rows.jsonl " + where).exit_code == 0);
    CHECK(text_of(folder.path / "rows.jsonl") == run_program("sweep qwen3.5-397b --pack 1..6 -q").output);
    CHECK(run_shell(in + "merge rows.jsonl -o merged.jsonl " + where).exit_code == 0);
    CHECK(text_of(folder.path / "merged.jsonl") == text_of(folder.path / "rows.jsonl"));
    fs::remove(folder.path / "rows.jsonl");
    fs::remove(folder.path / "merged.jsonl");
  }
  CHECK(contains(run_shell(in + "merge - <&-").output, "standard input: cannot be read: Bad file descriptor"));
}

TEST_CASE("edge: a limit of file sizes is a message and exit code 3, not a signal") {
  const ScratchFolder folder;
  const std::string in = "cd '" + folder.path.string() + "' && ulimit -f 1 && \"$HYBRIDKV\" ";
  const ProgramRun sweep = run_shell(in + "sweep qwen3.5-397b --pack 1..6 -q -o rows.jsonl");
  CHECK(sweep.exit_code == 3);
  CHECK(contains(sweep.output, "-o rows.jsonl: cannot be written: File too large"));
  const ProgramRun stdout_file = run_shell(in + "plan qwen3.5-397b --format json > plan.json");
  CHECK(stdout_file.exit_code == 3);
  CHECK(contains(stdout_file.output, "standard output: cannot be written: File too large"));
  // What was written of the rows is what an undisturbed run goes on with.
  CHECK(run_shell("cd '" + folder.path.string() +
                  "' && \"$HYBRIDKV\" sweep qwen3.5-397b --pack 1..6 -q --resume -o rows.jsonl")
            .exit_code == 0);
  CHECK(text_of(folder.path / "rows.jsonl") == run_program("sweep qwen3.5-397b --pack 1..6 -q").output);
}

TEST_CASE("edge: threads that cannot start are fewer threads") {
  // Threads take the limit of the stack for theirs; of this one there is room for none.
  const std::string limit = "ulimit -s 1099511627776 2>/dev/null || exit 99; ";
  const std::string sweep = "sweep qwen3.5-397b --pack 1..6 -q --threads 8";
  const ProgramRun limited = run_shell(limit + "\"$HYBRIDKV\" " + sweep);
  if (limited.exit_code == 99) return void(std::printf("SKIPPED: the limit of the stack cannot be raised\n"));
  CAPTURE(limited.output);
  CHECK(limited.exit_code == 0);
  CHECK(limited.output == run_program(sweep).output);
  const std::string simulate = "simulate --block-size 16,32,64 --num-blocks 200 --requests 50 -q";
  CHECK(run_shell(limit + "\"$HYBRIDKV\" " + simulate).output == run_program(simulate).output);
  CHECK(run_shell(limit + "\"$HYBRIDKV\" " + harmless_commands[10]).exit_code == 0);
}

TEST_CASE("edge: names that the system refuses are bad input, never a bug") {
  const ScratchFolder folder;
  const std::string in = "cd '" + folder.path.string() + "' && ";
  const std::string longer(300, 'x');
  fs::create_symlink("circle", folder.path / "circle");
  fs::create_directory(folder.path / "folder");
  const std::string limits = " --memory 20GiB --max-model-len 4096 ";
  for (const std::string& name : std::vector<std::string>{longer, longer + ",b", "circle", "folder", "circle/x",
                                                          "circle.yaml/x,folder", longer + ".yaml"}) {
    CAPTURE(name);
    for (const std::string& arguments :
         {"plan " + name, "plan --model " + name + limits, "sweep --model " + name + limits, "import " + name,
          "import nowhere.json -o " + name, "merge " + name, "attend " + name, "attend . -o " + name,
          "simulate --block-size 16 --num-blocks 200 -q --trace " + name, "plan qwen3.5-397b --set model.file=" + name,
          "plan qwen3.5-397b --set " + name, "report " + name + " -o r", "plot " + name + " -o p"}) {
      CAPTURE(arguments);
      const ProgramRun run = run_shell(in + "\"$HYBRIDKV\" " + arguments);
      CAPTURE(run.output);
      CHECK(run.exit_code == 2);
    }
    for (const std::string& arguments :
         {"plot qwen3.5-397b block-size -q -o " + name + "/x", "report qwen3.5-397b --no-verify -q -o " + name + "/x",
          "verify --model Qwen3.5-0.8B --memory 80MiB --max-model-len 100 --set "
          "verify.requests=[30] -q --pack 3 --export " +
              name + "/x"}) {
      if (name == "folder" || name.find(',') != std::string::npos) continue;
      CAPTURE(arguments);
      CHECK(run_shell(in + "\"$HYBRIDKV\" " + arguments).exit_code == 2);
    }
  }
  // A current folder that has been removed.
  CHECK(run_shell(in + "mkdir gone && cd gone && rmdir ../gone && \"$HYBRIDKV\" import config.json").exit_code == 2);
  CHECK(run_shell(in + "mkdir gone && cd gone && rmdir ../gone && \"$HYBRIDKV\" " + small_plan).exit_code == 0);
}

TEST_CASE("edge: what may not be read or written is bad input") {
  if (run_shell("test \"$(id -u)\" = 0 && command -v setpriv").exit_code != 0)
    return void(std::printf("SKIPPED: needs root and setpriv\n"));
  const ScratchFolder folder;
  fs::permissions(folder.path, fs::perms{0755});
  fs::create_directory(folder.path / "secret");
  for (const char* name : {"file", "secret/case.json"}) folder.file(name, "{}");
  fs::permissions(folder.path / "file", fs::perms{0600});
  fs::permissions(folder.path / "secret", fs::perms{0700});
  const fs::path program = folder.path / "hybridkv";  // where anybody may run it
  fs::copy_file(HYBRIDKV_PROGRAM, program);
  const std::string anybody =
      "cd '" + folder.path.string() + "' && setpriv --reuid 54321 --regid 54321 --clear-groups ./hybridkv ";
  if (run_shell(anybody + "--version").exit_code != 0)
    return void(std::printf("SKIPPED: cannot run as somebody else\n"));
  for (const char* arguments :
       {"plan file",
        "plan secret/x.yaml",
        "plan --model secret/x.yaml --memory 1GiB --max-model-len 1",
        "import file",
        "import secret/config.json",
        "attend secret",
        "attend secret/case",
        "attend . -o secret/out",
        "merge file",
        "merge secret/x",
        "simulate --block-size 16 --num-blocks 200 -q --trace secret/x",
        "simulate --block-size 16 --num-blocks 200 --requests 9 -q --force --per-request file",
        "simulate --block-size 16 --num-blocks 200 --requests 9 -q --per-request new",
        "sweep qwen3.5-397b -q -o file",
        "sweep qwen3.5-397b -q -o new",
        "sweep qwen3.5-397b -q -o secret/x",
        "plot qwen3.5-397b -q -o new",
        "plot qwen3.5-397b -q -o secret/new",
        "plot qwen3.5-397b -q -o .",
        "report qwen3.5-397b -q -o secret",
        "verify --model Qwen3.5-0.8B --memory 80MiB --max-model-len 100 --pack 3 -q --export secret/new"}) {
    CAPTURE(arguments);
    const ProgramRun run = run_shell(anybody + arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, "ermission denied"));
  }
}

TEST_CASE("edge: a command that a signal ends leaves no unfinished file") {
  const ScratchFolder folder;
  const std::string in = "cd '" + folder.path.string() + "' && ";
  for (const char* signal : {"TERM", "INT", "HUP"}) {
    CAPTURE(signal);
    // merge waits for the pipe with its output open; a shell lets what is in the background ignore interrupts, and
    // whoever runs the tests may ignore that a terminal is gone.
    const ProgramRun run = run_shell(
        in +
        "rm -f pipe out; mkfifo pipe; echo old > out; sleep 30 > pipe & s=$!; "
        "env --default-signal=INT,HUP \"$HYBRIDKV\" merge --force "
        "pipe -o out & p=$!; i=0; while ! ls -A | grep -q part && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; "
        "ls -A | grep -c part; kill -" +
        signal + " $p; wait $p; echo \"exit $?\"; kill $s; ls -A; cat out");
    CAPTURE(run.output);
    CHECK(contains(run.output, "1\n"));  // there was one
    CHECK(contains(run.output, "exit 1"));  // 128 and the signal
    CHECK_FALSE(contains(run.output, ".part"));
    CHECK(contains(run.output, "old"));
  }
}

TEST_CASE("edge: names of files and models drive no terminal, in messages, tables and CSV; JSON keeps them") {
  const ScratchFolder folder;
  const std::string evil =
      "a\x1b[31m\xc2\x9b"
      "31m\xe2\x80\xae"
      "b\xff";
  const std::string file =
      folder.file("my.yaml",
                  "name: \"a\\e[31m\\u009b31m\\u202eb\"\nmodel: Qwen3.5-4B\nengine: {memory: 20 GiB}\n"
                  "limits: {max_model_len: 4096}\n");
  const auto safe = [](const std::string& text) {
    for (const char* bad : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\xff"})
      if (contains(text, bad)) return false;
    return true;
  };
  for (const std::string& arguments :
       {"plan '" + evil + "'", "plan --model '" + evil + "' --memory 1GiB --max-model-len 1", "'" + evil + "'",
        "plan qwen3.5-397b '--" + evil + "'", "plan qwen3.5-397b --set '" + evil + "=1'", "merge '" + evil + "'",
        "plan qwen3.5-397b --set 'engine.memory=" + evil + "'", "import '" + evil + "'", "attend '" + evil + "'",
        "simulate --block-size 16 --num-blocks 9 --trace '" + evil + "'", "plan '" + file + "'",
        "explain '" + file + "'", "plan '" + file + "' --format json", "plan '" + file + "' --format csv",
        "plan '" + file + "' --format markdown", "simulate '" + file + "' --requests 5 -q",
        "simulate '" + file + "' --requests 5 -q --format json", "sweep '" + file + "' --pack 1 -q",
        "sweep '" + file + "' --pack 1 -q --format csv"}) {
    CAPTURE(arguments);
    CHECK(safe(run_program(arguments).output));
  }
}
