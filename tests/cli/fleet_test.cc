// What is typed for a fleet, and what it is told where that is wrong.
#include <doctest/doctest.h>

#include <string>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;

namespace {

constexpr const char* three_replicas =
    "simulate Qwen3.5-4B --memory 4G --max-model-len 16k --requests 200 --replicas 3 ";

ProgramRun fleet(const std::string& more) { return run_program(three_replicas + more); }

}  // namespace

TEST_CASE("golden: a fleet as CSV has a row for every router") {
  const ProgramRun csv = fleet("--router random,states --format csv");
  CHECK(csv.exit_code == 0);
  CHECK(csv.output.find("router,replicas,resent_requests,requests,") != std::string::npos);
  CHECK(csv.output.find(",random,3,0,200,") != std::string::npos);
  CHECK(csv.output.find(",states,3,0,200,") != std::string::npos);
}

TEST_CASE("golden: replicas that generate behind others are said, with what goes over") {
  const std::string typed = "--gpu H200 --router least-tokens --decode-replicas 2 ";
  const ProgramRun text = fleet(typed + "--link 400Gb/s --quiet");
  CHECK(text.exit_code == 0);
  CHECK(text.output.find("3 replicas compute prompts, 2 more generate; ") != std::string::npos);
  CHECK(text.output.find("on the way at 50.0 GB/s a GPU") != std::string::npos);
  const ProgramRun csv = fleet(typed + "--format csv --quiet");
  CHECK(csv.output.find("handed_over_requests,handed_over_rank_bytes,place_seconds,") != std::string::npos);
  const ProgramRun json = fleet(typed + "--link 1TB/s --format json --quiet");
  CHECK(json.output.find("\"decode_replicas\": 2,") != std::string::npos);
  CHECK(json.output.find("\"link_bytes_per_second\": 1000000000000.0") != std::string::npos);
}

TEST_CASE("law: a scenario's fleet is that of the flags, which win over it, and its errors have their place") {
  const ScratchFolder folder;
  const auto replayed = [&](const std::string& keys, const std::string& more) {
    const std::string file = folder.file(
        "fleet.yaml", "model: Qwen3.5-4B\nengine: {memory: 4 GiB}\nlimits: {max_model_len: 16k}\nsimulate:\n"
                      "  trace: {max_requests: 200}\n  fleet: " + keys + "\n");
    return run_program("simulate '" + file + "' --format csv --quiet " + more);
  };
  const ProgramRun said =
      replayed("{replicas: 3, router: [session, states], router_delay_seconds: 0.1, slow: [{replica: 0, times: 2}]}",
               "--gpu H200");
  CHECK(said.output == fleet("--router session,states --router-delay 100ms --slow 0=2 --gpu H200 --format csv --quiet")
                           .output);
  CHECK(replayed("{replicas: 2, router: random}", "--replicas 3 --router states").output ==
        fleet("--router states --format csv --quiet").output);
  const ProgramRun wrong = replayed("{replicas: 2, decode_replicas: 2}", "");
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.output.find("add --gpu NAME") != std::string::npos);
  const ProgramRun down = replayed("{replicas: 1, down: [{replica: 0, from_seconds: 1}]}", "--gpu H200");
  CHECK(down.exit_code == 2);
  CHECK(down.output.find("fleet.yaml:6:") != std::string::npos);
  CHECK(down.output.find("simulate.fleet.down: at 1 s no replica is left") != std::string::npos);
}

TEST_CASE("golden: plot --replicas draws what routers find and the course of a trace, a picture a pack") {
  const ScratchFolder folder;
  const std::string plot = "plot Qwen3.5-4B --memory 4G --max-model-len 16k --requests 200 --quiet --force -o '" +
                           folder.path.string() + "' ";
  const auto drawn = [&](const std::string& more) { return run_program(plot + more, "PATH=/nowhere"); };
  CHECK(drawn("--replicas 3 --router random,states --pack 1,2").exit_code == 4);  // there is no gnuplot at that path
  CHECK(folder.content("routing-gaps.tsv").starts_with("cache\trouter\tfound_percent"));
  CHECK(folder.content("routing-course-2.tsv").find("found_percent states") != std::string::npos);
  CHECK(drawn("routing-gaps --replicas 3").exit_code == 0);  // drawn without gnuplot
  for (const auto& [typed, told] : {std::pair{"routing-gaps", "say how many by --replicas R"},
                                    {"latency --replicas 2", "with --replicas take routing-gaps or routing-course"},
                                    {"--router random", "say how many by --replicas R"},
                                    {"--replicas 2 --engines all", "choose it by --engine"},
                                    {"--replicas 2 --gpu H200 --rate 1x,2x", "give one factor"},
                                    {"--replicas 2 --engine llama.cpp --router precise", "--router: precise hears"}}) {
    CAPTURE(typed);
    const ProgramRun run = drawn(typed);
    CHECK(run.exit_code == 2);
    CHECK(run.output.find(told) != std::string::npos);
  }
}

TEST_CASE("fault: flags of a fleet that are wrong have a way out that works") {
  struct Case {
    const char* typed;
    const char* told;
  };
  for (const Case& one : {Case{"--router prcise", "precise"},
                          {"--router-weights prefix", "write it like prefix=3,queue=2,usage=2"},
                          {"--router-weights prefx=3", "did you mean"},
                          {"--slow 3=2", "there is no replica 3, they are 0 to 2"},
                          {"--slow 1=0", "must be above 0"},
                          {"--down 0", "write it like 0@60s"},
                          {"--down 0@60s-30s", "is back before it is down"},
                          {"--down 0@60s", "add --gpu NAME or --driver open_loop"},
                          {"--losses", "leave them out, or --replicas"},
                          {"--per-request x.csv", "leave --replicas out"},
                          {"--gpu H200 --shapes x.json", "--shapes writes what one replica does"},
                          {"--decode-replicas 2", "add --gpu NAME"},
                          {"--decode-replicas 0", "1 to 1024"},
                          {"--link 50GB/s", "say how many by --decode-replicas D"},
                          {"--gpu H200 --decode-replicas 2 --link 50", "write it like 50GB/s or 400Gb/s"},
                          {"--gpu H200 --decode-replicas 2 --link 0GB/s", "write it like 50GB/s or 400Gb/s"},
                          {"--gpu H200 --decode-replicas 2 --down 0@6s", "do not fail"},
                          {"--router-delay soon", "is no time"}}) {
    CAPTURE(one.typed);
    const ProgramRun run = fleet(one.typed);
    CHECK(run.exit_code == 2);
    CHECK(run.output.find(one.told) != std::string::npos);
  }
  const ProgramRun alone = run_program("simulate Qwen3.5-4B --memory 4G --max-model-len 16k --router random");
  CHECK(alone.exit_code == 2);
  CHECK(alone.output.find("say how many by --replicas R") != std::string::npos);
  const ProgramRun tree = fleet("--engine sglang-0.5.23 --router states");
  CHECK(tree.exit_code == 2);
  CHECK(tree.output.find("take approximate or gateway") != std::string::npos);
}
