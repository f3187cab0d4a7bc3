// Colours and progress: on a terminal that understands them, and nowhere else.
#include <doctest/doctest.h>

#include <chrono>
#include <future>

#include "tests/cli/run_program.h"
#include "tests/cli/terminal_run.h"

using namespace hybridkv::testing;

TEST_CASE("edge: colours only on a terminal, not on a dumb one, not with NO_COLOR, but where asked for") {
  const std::string plan = "plan qwen3.5-397b --pack 3";
  const std::string escape = "\x1b[";
  CHECK(contains(run_on_terminal(plan, "unset NO_COLOR; TERM=xterm"), escape));
  CHECK_FALSE(contains(run_on_terminal(plan, "TERM=dumb"), escape));
  CHECK_FALSE(contains(run_on_terminal(plan, "NO_COLOR=1 TERM=xterm"), escape));
  CHECK(contains(run_on_terminal(plan + " --color always", "TERM=dumb"), escape));
  CHECK_FALSE(contains(run_program(plan, "TERM=xterm").output, escape));
}

TEST_CASE("edge: a long message is broken between words on a terminal, and one line elsewhere") {
  const std::string plan = "plan --model Qwen3.5-4B --memory 40 --max-model-len 32k";
  const std::string shown = run_on_terminal(plan, "stty columns 100 <&2; TERM=xterm");
  CAPTURE(shown);
  CHECK(contains(shown, "\r\n  "));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = shown.find("\r\n", begin)) != std::string::npos; begin = end + 2)
    CHECK(end - begin <= 100);
  std::string joined = shown;
  for (std::size_t at = 0; (at = joined.find("\r\n  ")) != std::string::npos;) joined.replace(at, 4, " ");
  CHECK(joined.substr(0, joined.find('\r')) + "\n" == run_program(plan).output);
  // A terminal that is hardly one, or does not say how wide it is, breaks lines itself.
  for (const char* columns : {"10", "0"})
    CHECK_FALSE(contains(run_on_terminal(plan, std::string("stty columns ") + columns + " <&2; TERM=xterm"), "\r\n  "));
}

TEST_CASE("edge: progress is shown after a second, on a terminal that is not dumb") {
  const std::string bench = "bench --batch 2q16s32,2q16s32,2q16s32 --min-time 0.6 --color never";
  const auto run = [&](const char* environment) {
    return std::async(std::launch::async, [=] { return run_on_terminal(bench, environment); });
  };
  auto shown = run("TERM=xterm"), dumb = run("TERM=dumb");
  const std::string quick = run_on_terminal("models", "TERM=xterm NO_COLOR=1");
  const std::string all = shown.get();
  CHECK(contains(all, "\x1b[Kbench: 2/3"));
  // The last thing about progress is that it is taken away.
  CHECK_FALSE(all.substr(all.rfind("\x1b[K")).starts_with("\x1b[Kbench"));
  CHECK_FALSE(contains(dumb.get(), "\x1b"));
  CHECK_FALSE(contains(quick, "\x1b"));
}

TEST_CASE("edge: a bar of progress is drawn after a second, and at most ten times a second") {
  // Some 150 pieces, of which each could draw.
  std::string memories = "40G";
  for (int size = 41; size <= 80; ++size) memories += "," + std::to_string(size) + "G";
  const auto start = std::chrono::steady_clock::now();
  const std::string shown = run_on_terminal("sweep qwen3.5-397b --pack 1..15 --tp 1,2 --memory " + memories +
                                                " --simulate --prompt-tokens 20k --requests 1000 --format csv "
                                                "-o /dev/null",
                                            "TERM=xterm");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::int64_t drawn = 0;
  for (std::size_t at = 0; (at = shown.find("\x1b[Ksweep [", at)) != std::string::npos; ++at) ++drawn;
  CAPTURE(shown);
  if (seconds > 2) CHECK(drawn > 0);
  CHECK(static_cast<double>(drawn) <= 10 * seconds + 1);
}
