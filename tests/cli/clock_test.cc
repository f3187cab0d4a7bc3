// Replays by a clock and `hybridkv calibrate`, as a user types them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "test_paths.h"
#include "tests/cli/require_refused.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;

namespace {

const std::string model = "--model Qwen3.5-35B-A3B --max-model-len 32k --gpu H200 ";
const std::string benches = "--bench '" HYBRIDKV_TEST_DATA "/clock/bench_short.json' --bench '" HYBRIDKV_TEST_DATA
                            "/clock/bench_long.json' ";

nlohmann::json times_of(const std::string& arguments) {
  const ProgramRun run = run_program("simulate " + arguments + " --requests 300 --format json --quiet 2> /dev/null");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.output)["caches"][0]["times"];
}

double first_token(const nlohmann::json& run) { return run["first_token_seconds"]["mean"].get<double>(); }

}  // namespace

TEST_CASE("golden: a replay on a GPU says times with and without prefix caching, and by which clock") {
  const nlohmann::json times = times_of(model + "--ttft 1s --tpot 40ms --price 2.5");
  CHECK(times["gpu"] == "H200");
  CHECK(times["gpus"] == 1);
  CHECK(times["clock"].get<std::string>().find("median error on runs that it had not seen") != std::string::npos);
  CHECK(first_token(times["cached"]) < first_token(times["uncached"]));
  CHECK(times["cached"]["requests"] == 300);
  CHECK(times["cached"]["good_requests"].get<int>() > 0);
  CHECK(times["cached"]["price_per_million_generated"].get<double>() > 0);
  double parts = 0;
  for (const auto& [part, seconds] : times["cached"]["step_seconds"].items()) parts += seconds.get<double>();
  CHECK(parts <= times["cached"]["span_seconds"].get<double>() * 1.001);
}

TEST_CASE("regression: CSV of a replay by a clock names no column twice, and says times with and without a cache") {
  for (const char* engine : {"vllm-0.33", "sglang-0.5.23", "tensorrt-llm --set engine.max_batch_size=8"}) {
    CAPTURE(engine);
    const ProgramRun run = run_program("simulate " + model + "--requests 20 --losses --format csv --quiet --engine " +
                                       engine + " 2> /dev/null");
    REQUIRE(run.exit_code == 0);
    std::istringstream heading(run.output.substr(0, run.output.find('\n')));
    std::map<std::string, int> times_named;
    for (std::string name; std::getline(heading, name, ',');) ++times_named[name];
    for (const auto& [name, times] : times_named) CHECK_MESSAGE(times == 1, name);
    CHECK(times_named.contains("first_token_p90_seconds"));
    CHECK(times_named.contains("uncached_first_token_mean_seconds"));
  }
}

TEST_CASE("law: more GPUs or a faster one, and fewer requests a second, never delay the first token") {
  const double before = first_token(times_of(model)["cached"]);
  CHECK(first_token(times_of("--model Qwen3.5-35B-A3B --max-model-len 32k --gpu B200")["cached"]) < before);
  CHECK(first_token(times_of(model + "--rate 0.2x")["cached"]) <= before);
  CHECK(first_token(times_of(model + "--tp 4")["cached"]) < before);
}

TEST_CASE("golden: every engine that was measured has times, the others say that nobody measured them") {
  for (const char* engine : {"vllm-0.32", "sglang-0.5.23", "tensorrt-llm"}) {
    CAPTURE(engine);
    // It keeps no state unless told to.
    const std::string batch = std::string(engine) == "tensorrt-llm"
                                  ? " --set engine.max_batch_size=256 --set engine.enable_branch_snapshot=true"
                                  : "";
    const nlohmann::json times = times_of(model + "--engine " + engine + batch);
    CHECK(first_token(times["cached"]) < first_token(times["uncached"]));
  }
  require_refused("simulate " + model + "--engine llama.cpp --requests 5", "how long a step of");
}

TEST_CASE("golden: without --memory the cache has what the GPU leaves beside the weights") {
  require_refused("simulate --model Qwen3.5-397B-A17B --max-model-len 32k --gpu H200 --requests 5", "take --tp 8");
  const std::string large = "simulate --model Qwen3.5-397B-A17B --tp 8 --max-model-len 32k --gpu H200 --requests 5";
  CHECK(run_program(large).exit_code == 0);
}

TEST_CASE("golden: every request of pools of blocks has its times in the file that was asked for") {
  const ScratchFolder folder;
  const std::string rows_file = (folder.path / "timed_requests.csv").string();
  CHECK(run_program("simulate " + model + "--requests 20 --per-request '" + rows_file + "'").exit_code == 0);
  std::ifstream file(rows_file);
  std::string header, row;
  std::getline(file, header);
  CHECK(header.ends_with("status,arrival_seconds,queue_seconds,first_token_seconds,finish_seconds,generated,"
                         "preemptions"));
  int rows = 0;
  while (std::getline(file, row)) ++rows;
  CHECK(rows == 20);
}

TEST_CASE("golden: one request at a time waits for nobody") {
  const nlohmann::json times = times_of(model + "--driver one_at_a_time");
  CHECK(times["cached"]["queueing_seconds"]["max"].get<double>() < 1e-9);
  CHECK(times_of(model + "--rate 40x")["cached"]["queueing_seconds"]["max"].get<double>() > 0);
}

TEST_CASE("golden: a list of rates draws latency against load, and says the most within limits") {
  const ProgramRun run =
      run_program("simulate " + model + "--requests 400 --ttft 1s --rate 4x,0.5x,40x --format json -q 2> /dev/null");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  const nlohmann::json curve = nlohmann::json::parse(run.output);
  REQUIRE(curve["points"].size() == 3);
  double before = 0;
  for (const nlohmann::json& point : curve["points"]) {
    CHECK(point["first_token_mean_seconds"].get<double>() >= before);
    before = point["first_token_mean_seconds"].get<double>();
  }
  CHECK(curve["points"][0]["good_share"].get<double>() >= 0.99);
  CHECK(curve["points"][2]["good_share"].get<double>() < 0.99);
  CHECK(curve["most_rate_within_limits"].get<double>() < 40);
  require_refused("simulate " + model + "--rate 1x,2x --driver closed_loop", "leave --driver out");
  require_refused("simulate " + model + "--rate 1x,2x --per-request rows.csv", "give --rate one factor");
}

TEST_CASE("golden: bound says the least mean first token beside that of a replay, which is what simulate says") {
  const std::string trace = "--requests 300 ";
  for (const char* rate : {"", "--rate 30x "}) {
    const ProgramRun run = run_program("bound " + model + trace + rate + "--format json --quiet 2> /dev/null");
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    const nlohmann::json answer = nlohmann::json::parse(run.output);
    const nlohmann::json& layout = answer["layouts"][0];
    const double least = layout["least_first_token_mean_seconds"].get<double>();
    const double found = layout["first_token_mean_seconds"].get<double>();
    CHECK(least > 0.05 * found);
    CHECK(least <= found);
    CHECK(least >= layout["alone_first_token_mean_seconds"].get<double>());
    CHECK(found == doctest::Approx(first_token(times_of(model + rate)["cached"])).epsilon(1e-6));
    CHECK(answer["clock"].get<std::string>().find("median error") != std::string::npos);
  }
  const ProgramRun text = run_program("bound " + model + trace);
  CHECK(text.output.find("by no policy before ") != std::string::npos);
  require_refused("bound " + model + "--rate 1x,2x", "give one factor");
  require_refused("bound " + model + "--requests 50 --engine llama.cpp", "llama.cpp");
  require_refused("bound --model Qwen3.5-4B --memory 8G --max-model-len 32k --rate 2x", "say on what by --gpu NAME");
}

TEST_CASE("law: bound gives each engine and split the memory that the GPU leaves it, as when it is asked alone") {
  const auto bounded = [&](const std::string& asked) {
    const ProgramRun run = run_program("bound " + model + "--requests 100 --format json -q " + asked + " 2> /dev/null");
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    return nlohmann::json::parse(run.output)["layouts"];
  };
  for (const auto& [flag, second, third] :
       {std::array{"--engines ", "vllm-0.33", "sglang-0.5.23"}, std::array{"--tp ", "1", "2"}}) {
    const nlohmann::json both = bounded(std::string(flag) + second + "," + third);
    const std::string one = flag == std::string("--tp ") ? flag : "--engine ";
    REQUIRE(both.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      nlohmann::json alone = bounded(one + (i == 0 ? second : third))[0];
      alone["name"] = both[i]["name"];  // it is called by what varies
      CHECK(alone == both[i]);
    }
  }
  // Each clock is named, and each number of GPUs.
  const auto said = nlohmann::json::parse(run_program("bound " + model + "--requests 20 --format json -q --engines "
                                                      "vllm-0.33,vllm-0.32,sglang-0.5.23 2> /dev/null").output);
  const std::string clocks = said["clock"];
  CHECK(clocks.starts_with("clock of vllm, "));
  CHECK(clocks.find("clock of vllm", 1) == std::string::npos);
  CHECK(clocks.find(". clock of sglang, ") != std::string::npos);
  CHECK(run_program("bound " + model + "--requests 20 --tp 1,2").output.find("on 1 H200 and on 2 H200: by the times") !=
        std::string::npos);
}

TEST_CASE("golden: plot --gpu draws latency against load and where a step's time goes, a curve a pack or an engine") {
  const ScratchFolder folder;
  const auto plotted = [&](const std::string& arguments) {
    return run_program("plot " + model + "--requests 100 --rate 1x,4x --quiet --force -o '" + folder.path.string() +
                           "' " + arguments,
                       "PATH=/nowhere");
  };
  CHECK(plotted("").exit_code == 4);  // there is no gnuplot at that path
  const std::string rows = text_of(folder.path / "latency.tsv");
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 3);
  CHECK(contains(rows, "uncached_first_token_seconds"));
  CHECK(contains(text_of(folder.path / "step-time.tsv"), "experts_percent"));
  const ProgramRun engines = plotted("latency --engines vllm-0.33,sglang-0.5.23,llama.cpp");
  CHECK(contains(engines.output, "left out: llama.cpp"));
  CHECK(contains(text_of(folder.path / "latency.tsv"), "first_token_seconds sglang-0.5.23"));
  const std::string to = "-o '" + folder.path.string() + "' ";
  const std::string plain = "plot --model Qwen3.5-4B --memory 8G --max-model-len 32k " + to;
  require_refused(plain + "latency", "say on what by --gpu NAME");
  require_refused(plain + "--rate 2x", "say on what by --gpu NAME");
  require_refused("plot " + model + to + "block-size", "with --gpu take latency or step-time");
}

TEST_CASE("edge: flags of a clock that cannot be are refused, with a way out") {
  require_refused("simulate --model Qwen3.5-4B --memory 8G --max-model-len 32k --ttft 1s", "say on what by --gpu NAME");
  require_refused("simulate " + model + "--ttft soon", "write it like 40ms or 1.5s");
  require_refused("simulate " + model + "--rate 0x", "must be a number above 0");
  require_refused("simulate " + model + "--tp 2 --gpus 3", "no multiple of the 2 ranks");
  require_refused("simulate --model Qwen3.5-4B --max-model-len 32k --gpu H300", "H200");
  require_refused("simulate --block-size 528 --num-blocks 100 --gpu H200", "needs a model");
  require_refused("simulate " + model + "--clock '" HYBRIDKV_TEST_DATA "/clock/bench_short.json'", "is no clock");
}

TEST_CASE("golden: explain derives a step, whose parts sum up to it and whose products to the parts") {
  const std::string explain = "explain " + model + "--step '64 x decode behind 8k + prompt 2k behind 10k found' ";
  const nlohmann::json json = nlohmann::json::parse(run_program(explain + "--format json").output);
  CHECK(json["step"] == "64 x decode 1 behind 8192 + prompt 2048 behind 10240 found");
  double step = 0;
  for (const nlohmann::json& part : json["parts"]) {
    CAPTURE(part.dump());
    step += part["seconds"].get<double>();
    std::map<std::string, double> of;
    for (const nlohmann::json& term : part["terms"])
      of[term["of"].get<std::string>()] += term["seconds"].get<double>();
    CHECK(std::max(of["flops"], of["bytes"]) + of["time"] == doctest::Approx(part["seconds"].get<double>()));
  }
  CHECK(step == doctest::Approx(json["seconds"].get<double>()));

  require_refused("explain " + model + "--step '64 x decod behind 8k'", "did you mean 'decode'?");
  require_refused("explain " + model, "name it by --step");
  require_refused("explain Qwen3.5-4B --memory 20G --max-model-len 32k --step 'prompt 5'",
                  "say on which by --gpu NAME");
  require_refused(explain + "2096", "ask one of them");
}

TEST_CASE("golden: calibrate says which tests to run, takes their results, and its clock is taken back") {
  const ProgramRun asked = run_program("calibrate " + model);
  CHECK(asked.exit_code == 0);
  CHECK(asked.output.find("vllm bench serve --model") != std::string::npos);
  const ScratchFolder folder;
  const std::string file = "'" + (folder.path / "clock.json").string() + "'";
  const ProgramRun run = run_program("calibrate " + model + benches + "-o " + file);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("calibrated by 2 load tests") != std::string::npos);
  const nlohmann::json times = times_of(model + "--clock " + file);
  CHECK(times["clock"].get<std::string>().find("calibrated by 2 load tests of Qwen3.5-35B-A3B on 1 H200") !=
        std::string::npos);
  CHECK(first_token(times["cached"]) != first_token(times_of(model)["cached"]));
  require_refused("calibrate " + model + benches + "-o " + file, "--force");
  require_refused("simulate " + model + "--engine sglang-0.5.23 --requests 5 --clock " + file,
                  "is a clock of vllm");
}

TEST_CASE("golden: what an engine printed while requests generated calibrates the clock") {
  const ScratchFolder folder;
  const std::string line =
      "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 600.0 tokens/s, Running: 8 reqs, "
      "Waiting: 0 reqs, GPU KV cache usage: 20.0%\n";
  const std::string log = "'" + folder.file("server.log", line + line) + "'";
  const std::string to = "'" + (folder.path / "clock.json").string() + "'";
  const ProgramRun run = run_program("calibrate " + model + "--log " + log + " -o " + to);
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("Steps of the log: ") != std::string::npos);
  CHECK(run.output.find("8 x decode 1 behind") != std::string::npos);
  CHECK(run_program("simulate " + model + "--requests 20 --clock " + to).exit_code == 0);
  require_refused("calibrate " + model + "--log " + log + " -o " + log + " --force", "server.log");
  require_refused("calibrate Qwen3.5-4B --engine llama.cpp --gpu H200 --max-model-len 32k --log " + log, "llama.cpp");
}

TEST_CASE("golden: steps of a replay are written, and measured by a benchmark they calibrate the clock") {
  const ScratchFolder folder;
  const std::string to = "'" + folder.path.string();
  const std::string deployment = "--model Qwen3.5-35B-A3B --max-model-len 32k --gpu H200 ";
  const ProgramRun written =
      run_program("simulate " + deployment + "--requests 300 --shapes " + to + "/shapes.json' 2>&1");
  CAPTURE(written.output);
  REQUIRE(written.exit_code == 0);
  CHECK(written.output.find("vllm bench forward --model Qwen3.5-35B-A3B --shapes") != std::string::npos);
  const nlohmann::json cases = nlohmann::json::parse(folder.content("shapes.json"))["cases"];
  CHECK(cases.size() > 20);
  const std::string calibrate = "calibrate " + deployment + "--forward " + to + "/forward.json' ";
  const auto measure = [&](auto&& micros_of) {
    nlohmann::json result = nlohmann::json::array();
    for (std::size_t i = 0; i < cases.size(); ++i)
      result.push_back({{"case", cases[i]["name"]}, {"requests", cases[i]["requests"]}, {"median_us", micros_of(i)},
                        {"ranks", {{{"latency_us", {{"sample_spread_pct", 0.9}}}}}}});
    folder.file("forward.json", result.dump());
  };
  // Invented: a server whose short steps take 1.4 times as long as the engine's clock says, and long ones half as long
  // again as that.
  measure([](std::size_t) { return 1; });
  const nlohmann::json by_engine = nlohmann::json::parse(run_program(calibrate + "--format json").output)["steps"];
  measure([&](std::size_t i) {
    const double seconds = by_engine[i]["before_seconds"].get<double>();
    return 1.4e6 * seconds * (seconds > 0.05 ? 1.5 : 1);
  });
  const ProgramRun run = run_program(calibrate + "-o " + to + "/clock.json'");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("held back") != std::string::npos);
  CHECK(run.output.find("differ by more than 0.5 %") != std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(run_program(calibrate + "--format json").output);
  double before = 0, now = 0;
  for (const nlohmann::json& step : json["steps"]) {
    before += std::abs(std::log(step["before_seconds"].get<double>() / step["measured_seconds"].get<double>()));
    now += std::abs(std::log(step["now_seconds"].get<double>() / step["measured_seconds"].get<double>()));
  }
  CHECK(json["steps"].size() == cases.size());
  CHECK(now < before / 2);
  // What was known of a first token stays, as steps say nothing of it.
  CHECK(json.contains("error_on_others"));
  const nlohmann::json times = times_of(deployment + "--clock " + to + "/clock.json'");
  CHECK(times["clock"].get<std::string>().find("calibrated by") != std::string::npos);
  require_refused("simulate --model Qwen3.5-4B --memory 8G --max-model-len 32k --shapes s.json", "by --gpu NAME");
  require_refused("simulate " + deployment + "--engine sglang-0.5.23 --shapes s.json", "calibrate by load tests");
  require_refused("simulate " + deployment + "--rate 1x,2x --shapes s.json", "give --rate one factor");
}

TEST_CASE("golden: a scenario says its clock, flags win over it, and a sweep goes over GPUs") {
  const ScratchFolder folder;
  const std::string scenario =
      "'" + folder.file("scenario.yaml", "model: Qwen3.5-35B-A3B\nengine: {memory: 40 GiB}\n"
                                         "limits: {max_model_len: 32k}\nsimulate:\n  trace: {max_requests: 200}\n"
                                         "  clock: {gpu: H200, ttft_seconds: 1}\n") + "' ";
  const auto first_of = [&](const std::string& arguments) {
    const ProgramRun run = run_program("simulate " + scenario + "--format json --quiet " + arguments);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    return nlohmann::json::parse(run.output)["caches"][0]["times"];
  };
  const nlohmann::json said = first_of(""), faster = first_of("--gpu B200");
  CHECK(said["gpu"] == "H200");
  CHECK(said["cached"].contains("good_requests"));
  CHECK(faster["gpu"] == "B200");
  CHECK(first_of("--set simulate.clock.rate=0.1")["cached"]["span_seconds"] > said["cached"]["span_seconds"]);
  const ProgramRun sweep = run_program(
      "sweep " + scenario + "--simulate --set simulate.clock.gpu='[H200, B200]' --format jsonl --quiet");
  CAPTURE(sweep.output);
  REQUIRE(sweep.exit_code == 0);
  std::istringstream lines(sweep.output);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  REQUIRE(rows.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(rows[i]["first_token_mean_seconds"].get<double>() ==
          doctest::Approx(first_token((i == 0 ? said : faster)["cached"])).epsilon(1e-4));
    CHECK(rows[i]["clock"].get<std::string>().starts_with("clock of vllm"));
    CHECK(rows[i]["gpus"] == 1);
  }
}

TEST_CASE("golden: drafts that come true make tokens faster, drafts that do not make them slower") {
  const std::string drafting = "--model Qwen3.5-35B-A3B --max-model-len 32k --gpu H200 --driver closed_loop "
                               "--in-flight 4 ";
  const auto each = [&](const std::string& more) {
    return times_of(drafting + more)["cached"]["output_token_seconds"]["mean"].get<double>();
  };
  const double none = each(""), wrong = each("--set engine.speculative_tokens=2"),
               right = each("--set engine.speculative_tokens=2 --acceptance 0.9");
  CHECK(wrong > none);
  CHECK(right < none);
  CHECK(right > none / 3);
  require_refused("simulate " + drafting + "--acceptance 1.5", "from 0 to 1");
}

TEST_CASE("edge: attention data parallel has no replay, and says what to do") {
  require_refused("simulate " + model + "--gpus 4", "take --tp 4");
}

TEST_CASE("edge: memory that GPUs leave to a cache is counted for any number of ranks") {
  const std::string asked = "simulate --model DeepSeek-V3 --gpu H200 --max-model-len 8k --requests 5 -q ";
  const ProgramRun run = run_program(asked + "--tp 128");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "on 128 H200"));
  require_refused(asked + "--tp 1", "the weights of DeepSeek-V3 leave nothing for a cache on 1 rank; take --tp 16");
}

TEST_CASE("edge: a table of runs of which none counts is refused, with what would count") {
  const ScratchFolder folder;
  std::istringstream lines(text_of(HYBRIDKV_TEST_DATA "/clock/measured_pd.csv"));
  std::string head, uncounted;
  std::getline(lines, head);
  std::getline(lines, uncounted);
  const std::string table = folder.file("rows.csv", head + "\n" + uncounted + "\n");
  require_refused("calibrate --rows '" + table + "' --models '" HYBRIDKV_TEST_DATA "/clock/models.csv'",
                  "p/d with prefill_workers");
  require_refused("calibrate --unseen --rows '" + table + "' --models '" HYBRIDKV_TEST_DATA "/clock/models.csv'",
                  "no engine has clean rows of two models or GPUs");
}

TEST_CASE("edge: a table of runs says what was served on what, so that flags of one deployment are refused beside it") {
  const std::string table = "calibrate --rows '" HYBRIDKV_TEST_DATA "/clock/measured.csv' --models '" HYBRIDKV_TEST_DATA
                            "/clock/models.csv' ";
  for (const char* const flag : {"--clock", "--gpu", "--bench", "--output", "--tp", "--engine"})
    require_refused(table + flag + " 2", std::string(flag) + ": the runs of a table have deployments of their own");
  require_refused(table + "Qwen3.5-4B", "leave it out, or --rows");
  require_refused(table + "--fit --unseen", "--fit excludes --unseen");
  require_refused("calibrate --unseen", "--unseen belongs to a table of measured runs");
}

TEST_CASE("edge: what is no load test is refused with the key that is missing") {
  require_refused("calibrate " + model + "--bench '" HYBRIDKV_TEST_DATA "/clock/models.csv'",
                  "is no result of a load test");
  const ScratchFolder folder;
  const std::string half = folder.file("half.json", R"({"completed": 40, "mean_ttft_ms": 12, "max_concurrency": 4})");
  require_refused("calibrate " + model + "--bench '" + half + "'", "total_input_tokens");
  require_refused("calibrate " + model + "-o clock.json", "nothing to calibrate by");
  require_refused("calibrate --model Qwen3.5-4B --memory 8G --max-model-len 32k", "--gpu NAME");
}
