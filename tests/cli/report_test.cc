// `hybridkv report` from outside, and in a browser.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

const std::string small_report =
    "report --model granite-4.0-h-350m --memory 2GiB --max-model-len 4096 --pack 2 "
    "--set engine.cache_mode=align --requests 300 -q -o ";

}  // namespace

TEST_CASE("golden: a report verifies, draws, and is the same page every time") {
  if (!is_installed("gnuplot")) return void(std::printf("SKIPPED: gnuplot is not installed\n"));
  const ScratchFolder first, second;
  const ProgramRun run = run_program(small_report + first.path.string());
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  const std::string html = first.content("report.html");
  for (const char* text : {"Every element has its own address", "<svg", "What was asked", "where the numbers come from",
                           "What to set", "vllm serve", "What it was chosen from", "The trace replayed",
                           "Made by hybridkv 0.",
                           "What is found again", "hybridkv recommend --set", "hybridkv simulate --set",
                           "hybridkv report --set engine.cache_mode=align --model granite-4.0-h-350m --pack 2 "
                           "--memory 2GiB --max-model-len 4096 --requests 300 -o report"})
    CHECK(contains(html, text));
  const std::string markdown = first.content("report.md");
  CHECK(contains(markdown, "](plots/hit-rate.svg)"));
  // The first screen: the answer, its table, the memory of the pick, its page map; then all the rest.
  std::size_t at = 0;
  for (const char* text : {"# granite-4.0-h-350m", ", because ", "| settings | N = ", "| evidence | ",
                           "| K and V of tokens | ", "| **all** | **2.00 GiB** | **100.00 %** | **2,147,483,648** |",
                           "](plots/page-map-pick.svg)", "## What to set", "## The layouts", "## What was asked"}) {
    CAPTURE(text);
    const std::size_t found = markdown.find(text, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  CHECK(html.find("<div class=\"bar\"") < html.find("<nav>"));
  CHECK(fs::exists(first.path / "plots" / "page-map-pick.svg"));
  CHECK(fs::exists(first.path / "plots" / "hit-rate.svg"));
  REQUIRE(run_program(small_report + second.path.string()).exit_code == 0);
  CHECK(second.content("report.html") == html);
}

TEST_CASE("golden: the report on Qwen3.5-397B in seven packs stays under 2 MiB") {
  if (!is_installed("gnuplot")) return void(std::printf("SKIPPED: gnuplot is not installed\n"));
  const ScratchFolder folder;
  REQUIRE(run_program("report qwen3.5-397b --no-verify -q -o " + folder.path.string()).exit_code == 0);
  const std::string html = folder.content("report.html");
  CHECK(html.size() < 2 * 1024 * 1024);
  CHECK(html.size() > 100'000);
  CHECK(contains(html, "--no-verify"));
  // What the seven packs share is derived once.
  const std::string bias = "chunked bias = query tokens * chunk * block * element";
  REQUIRE(contains(html, bias));
  CHECK_FALSE(contains(html.substr(html.find(bias) + 1), bias));
}

TEST_CASE("golden: on paper the report on seven packs has at most a dozen pages") {
  if (!is_installed("gnuplot") || !is_installed("chromium") || !is_installed("pdfinfo"))
    return void(std::printf("SKIPPED: gnuplot, chromium or pdfinfo is not installed\n"));
  const ScratchFolder folder;
  REQUIRE(run_program("report qwen3.5-397b --no-verify -q -o " + folder.path.string()).exit_code == 0);
  const std::string print =
      "HOME=" + folder.path.string() + " timeout 600 chromium --headless --no-sandbox --disable-gpu --print-to-pdf=" +
      (folder.path / "report.pdf").string() + " file://" + (folder.path / "report.html").string() +
      " > /dev/null 2>&1 && pdfinfo " + (folder.path / "report.pdf").string() + " | sed -n 's/^Pages: *//p' > " +
      (folder.path / "pages").string();
  REQUIRE(std::system(print.c_str()) == 0);
  const int pages = std::atoi(folder.content("pages").c_str());
  CHECK(pages >= 3);
  CHECK(pages <= 12);
}

TEST_CASE("edge: a question of a report that a release refuses is answered by the refusal") {
  const ScratchFolder folder;
  const ProgramRun run = run_program(
      "report --model Qwen3.5-4B --memory 8G --max-model-len 32k --engine llama.cpp --no-verify -q "
      "--set simulate.driver=open_loop -o " +
          folder.path.string(),
      "PATH=/nowhere");
  CAPTURE(run.output);
  CHECK(run.exit_code == 4);
  const std::string page = folder.content("report.md");
  CHECK(contains(page, "## What to set\n\nNot to be had: --set simulate.driver=open_loop: "));
  // What is recommended is not known; the memory of what was planned is.
  CHECK(page.find("| K and V of tokens | ") < page.find("## What to set"));
}

TEST_CASE("edge: without gnuplot the report is written with the page maps alone, with exit code 4") {
  const ScratchFolder folder;
  const ProgramRun run =
      run_program(small_report + folder.path.string() + " --no-verify --set \"name=it's mine\"", "PATH=/nowhere");
  CAPTURE(run.output);
  CHECK(run.exit_code == 4);
  CHECK(contains(folder.content("report.md"), "--set 'name=it'\\''s mine'"));  // as a shell reads it back
  CHECK(contains(run.output, "the report is written without these pictures"));
  const std::string html = folder.content("report.html");
  CHECK(contains(html, "Page map: "));
  CHECK(contains(html, "not drawn"));
  // The only plan stands among the layouts; nothing of it but its derivation is told again.
  CHECK(contains(html, "N = 2: where the numbers come from"));
  CHECK_FALSE(contains(html, "N = 2 in full"));
}

TEST_CASE("golden: Chromium opens the page from disk without an error or a request") {
  if (!is_installed("gnuplot") || !is_installed("chromium"))
    return void(std::printf("SKIPPED: gnuplot or chromium is not installed\n"));
  const ScratchFolder folder;
  REQUIRE(run_program(small_report + folder.path.string() + " --no-verify").exit_code == 0);
  const auto open = [&](const std::string& page) {
    const std::string log = (folder.path / "chromium.log").string();
    const std::string command = "HOME=" + folder.path.string() +
                                " timeout 600 chromium --headless --no-sandbox --disable-gpu "
                                "--enable-logging=stderr --dump-dom file://" +
                                (folder.path / page).string() + " > " + (folder.path / "dom.html").string() + " 2> " +
                                log;
    CHECK(std::system(command.c_str()) == 0);
    return folder.content("chromium.log");
  };
  const std::string messages = open("report.html");
  CAPTURE(messages);
  CHECK_FALSE(contains(messages, "CONSOLE"));  // errors of the page, and what its policy keeps from loading
  CHECK(contains(folder.content("dom.html"), "To repeat this"));
  // The check above sees a request: the same page with a picture from elsewhere.
  std::string broken = folder.content("report.html");
  broken.insert(broken.find("</body>"), "<img src=\"http://localhost:9/x.png\"/>");
  std::ofstream(folder.path / "broken.html") << broken;
  CHECK(contains(open("broken.html"), "CONSOLE"));
}

TEST_CASE("edge: what report refuses, and its help") {
  CHECK(run_program("report qwen3.5-397b").exit_code == 2);
  CHECK(run_program("report nowhere -o /tmp/never").exit_code == 2);
  CHECK(run_program("report qwen3.5-397b --no-verify -q -o /dev/null").exit_code == 2);
  CHECK(contains(run_program("report --help").output, "Examples:"));
}
