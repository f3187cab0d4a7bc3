// `hybridkv recommend --gpu`: how many GPUs, as a user asks it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/require_refused.h"

using namespace hybridkv::testing;
using nlohmann::json;

namespace {

const std::string choice_asked = "recommend Qwen3.5-35B-A3B --max-model-len 128k --requests 400 --gpu H200 --quiet ";

json gpu_choice_of(const std::string& arguments, int exit_code = 0) {
  const ProgramRun run = run_program(choice_asked + arguments + " --format json 2> /dev/null");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == exit_code);
  return json::parse(run.output);
}

/// What the last of the printed commands says of times.
json times_by_command(const json& choice) {
  const std::string command = choice["commands"].back();
  REQUIRE(command.starts_with("hybridkv "));
  const ProgramRun run = run_program(command.substr(9) + " --format json --quiet 2> /dev/null");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.output)["caches"][0]["times"];
}

void check_same_numbers(const json& choice) {
  const json& pick = choice["tried"][choice["pick"].get<std::size_t>()];
  CHECK(run_program(choice["commands"][0].get<std::string>().substr(9)).exit_code == 0);
  const json times = times_by_command(choice);
  CHECK(times["gpus"] == pick["ranks"]);
  CHECK(times["cached"]["first_token_seconds"]["mean"].get<double>() ==
        doctest::Approx(pick["first_token_mean_seconds"].get<double>()).epsilon(1e-6));
  CHECK(times["cached"]["output_token_seconds"]["mean"].get<double>() ==
        doctest::Approx(pick["output_token_mean_seconds"].get<double>()).epsilon(1e-6));
  const double share = times["cached"]["good_requests"].get<double>() / times["cached"]["requests"].get<double>();
  CHECK(100 * share == doctest::Approx(pick["good_percent"].get<double>()).epsilon(1e-6));
}

}  // namespace

TEST_CASE("golden: the fewest GPUs that hold are taken, and the commands say their numbers again") {
  const json choice = gpu_choice_of("--gpus 1..8 --ttft 1s --tpot 30ms --rate 2x --price 2.5");
  CHECK(choice["schema"] == "hybridkv-gpu-choice/1");
  const json& tried = choice["tried"];
  const json& pick = tried[choice["pick"].get<std::size_t>()];
  CHECK(pick["holds"] == true);
  CHECK(pick["good_percent"].get<double>() >= 99);
  CHECK(pick["price_per_million_generated"].get<double>() > 0);
  CHECK(pick["replicas"].get<int>() * pick["ranks"].get<int>() == pick["gpus"].get<int>());
  for (const json& one : tried)
    if (one["gpus"].get<int>() < pick["gpus"].get<int>()) CHECK(one["holds"] == false);
  // That it does hold says as little of the highest rate as of limits that are nearer.
  CHECK(choice["most_rate"].get<double>() >= 2);
  CHECK(choice["good_share_if_slower"].get<double>() * 100 <= pick["good_percent"].get<double>());
  check_same_numbers(choice);
}

TEST_CASE("golden: replicas are asked for where ranks are said, and their commands slow the trace down") {
  const json choice = gpu_choice_of("--gpus 1..64 --ttft 1s --rate 8x --tp 2");
  const json& pick = choice["tried"][choice["pick"].get<std::size_t>()];
  CHECK(pick["ranks"] == 2);
  REQUIRE(pick["replicas"].get<int>() > 1);
  for (const json& one : choice["tried"]) {
    CHECK(one["ranks"] == 2);
    if (one["replicas"].get<int>() + 1 == pick["replicas"].get<int>()) CHECK(one["holds"] == false);
  }
  CHECK(choice["commands"].back().get<std::string>().find("--rate ") != std::string::npos);
  check_same_numbers(choice);
}

TEST_CASE("golden: replicas behind the best of several routers are chosen, and say their numbers again") {
  const json choice = gpu_choice_of("--gpus 1..16 --ttft 1s --rate 8x --tp 1 --price 2.5 --router session,states");
  const json& pick = choice["tried"][choice["pick"].get<std::size_t>()];
  REQUIRE(pick["replicas"].get<int>() > 1);
  CHECK((pick["router"] == "session" || pick["router"] == "states"));
  const std::string command = choice["commands"].back();
  CHECK(contains(command, "--replicas " + pick["replicas"].dump() + " --router " + pick["router"].get<std::string>()));
  CHECK(contains(command, "--rate 8x"));
  const ProgramRun run = run_program(command.substr(9) + " --format json --quiet 2> /dev/null");
  REQUIRE(run.exit_code == 0);
  const json routed = json::parse(run.output)["routers"][0];
  for (const char* const figure : {"first_token_mean_seconds", "output_token_mean_seconds"})
    CHECK(routed[figure].get<double>() == doctest::Approx(pick[figure].get<double>()).epsilon(1e-5));
  CHECK(contains(run_program(choice_asked + "--gpus 2 --ttft 1s --tp 1 --router session").output,
                 "The same numbers again, of all replicas"));
  // Of one replica nothing is routed.
  for (const json& one : gpu_choice_of("--gpus 1 --ttft 1s --tp 1 --router states")["tried"])
    CHECK(one.value("router", "") == "");
  require_refused(choice_asked + "--gpus 2 --ttft 1s --tp 1 --engine sglang-0.5.23 --router states",
                  "take approximate or gateway");
  require_refused("recommend Qwen3.5-35B-A3B --max-model-len 128k --router states", "say which by --gpu NAME");
}

TEST_CASE("golden: of one number of GPUs the most load that holds is found") {
  const json choice = gpu_choice_of("--gpus 2 --ttft 1s --tpot 40ms");
  REQUIRE(choice["tried"].size() == 2);
  const json& pick = choice["tried"][choice["pick"].get<std::size_t>()];
  for (const json& one : choice["tried"]) CHECK(one["rate"].get<double>() <= pick["rate"].get<double>());
  CHECK(pick["holds"] == true);
  check_same_numbers(choice);
  // A tenth more is the next rate that is looked at, or less.
  const std::string rate = std::to_string(1.11 * pick["rate"].get<double>()) + "x";
  const json more = gpu_choice_of("--gpus 2,1024 --tp " + std::to_string(pick["ranks"].get<int>()) +
                             " --ttft 1s --tpot 40ms --rate " + rate);
  const json& same = more["tried"].front();
  CHECK(same["gpus"] == 2);
  CHECK(same["holds"] == false);
}

TEST_CASE("law: nearer limits, more requests and a larger share never take fewer GPUs") {
  const auto gpus = [](const std::string& more) {
    const json choice = gpu_choice_of("--gpus 1..64 --tp 1 " + more);
    return choice["tried"][choice["pick"].get<std::size_t>()]["gpus"].get<int>();
  };
  const int some = gpus("--ttft 1s --tpot 30ms --rate 4x");
  CHECK(gpus("--ttft 400ms --tpot 15ms --rate 4x") >= some);
  CHECK(gpus("--ttft 1s --tpot 30ms --rate 8x") > some);
  CHECK(gpus("--ttft 1s --tpot 30ms --rate 4x --good-share 50") <= some);
}

TEST_CASE("golden: where no number of GPUs holds, what comes nearest is said, with exit code 1") {
  const json choice = gpu_choice_of("--gpus 1,2 --ttft 1ms", 1);
  CHECK(choice["pick"].is_null());
  const ProgramRun run = run_program(choice_asked + "--gpus 1,2 --ttft 1ms");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "None of 1, 2 H200 suffices"));
}

TEST_CASE("golden: engines stand beside each other, each with its clock's error, and who has no clock is named") {
  const ProgramRun run =
      run_program(choice_asked + "--gpus 1..4 --ttft 1s --engines vllm-0.33,sglang-0.5.23,llama.cpp");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "\n  engine "));
  CHECK(contains(run.output, "\n* vllm-0.33 "));
  CHECK(contains(run.output, "\n  sglang-0.5.23 "));
  CHECK(contains(run.output, "! llama.cpp: refused: "));
  CHECK(contains(run.output, "clock of sglang"));
}

TEST_CASE("golden: programs get engines one after the other, each with what it says alone, and who has no clock") {
  const std::string alone = "recommend Qwen3.5-35B-A3B --max-model-len 128k --requests 20 --gpu H200 --quiet --gpus 1 "
                            "--tp 1 --ttft 1s --format ";
  const std::string engines = " --engines vllm-0.33,sglang-0.5.23,llama.cpp";
  const auto rows_of = [&](const std::string& more) {
    return run_program(alone + "csv" + more + " 2> /dev/null").output;
  };
  const json both = json::parse(run_program(alone + "json" + engines + " 2> /dev/null").output);
  REQUIRE(both["engines"].size() == 3);
  std::string rows;
  for (const std::size_t i : {0, 1}) {
    const std::string release = both["engines"][i]["release"];
    CHECK(both["engines"][i]["answer"] ==
          json::parse(run_program(alone + "json --engine " + release + " 2> /dev/null").output));
    const std::string own = rows_of(" --engine " + release);
    if (rows.empty()) rows = "engine," + own.substr(0, own.find('\n') + 1);
    rows += release + "," + own.substr(own.find('\n') + 1);
  }
  CHECK(both["engines"][2]["release"] == "llama.cpp");
  CHECK(contains(both["engines"][2]["refused"].get<std::string>(), "take an engine that was measured"));
  CHECK(rows_of(engines) == rows);
}

TEST_CASE("golden: ranks that the weights do not fit are left out, and said") {
  const ProgramRun run = run_program("recommend Qwen3.5-397B-A17B --max-model-len 32k --requests 60 --gpu H200 --quiet "
                                     "--gpus 4,8 --ttft 2s --format json 2> /dev/null");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  const json choice = json::parse(run.output);
  REQUIRE(!choice["refused"].empty());
  CHECK(choice["refused"][0]["ranks"] == 1);
  CHECK(contains(choice["refused"][0]["why"].get<std::string>(), "leave nothing for a cache"));
}

TEST_CASE("golden: where ranks are not said, every power of two up to 16 is tried") {
  const json choice = gpu_choice_of("--gpus 16 --ttft 1s --packs 1 --modes align");
  std::set<int> ranks;
  for (const char* const list : {"tried", "refused"})
    for (const json& one : choice[list]) ranks.insert(one["ranks"].get<int>());
  CHECK(ranks == std::set<int>{1, 2, 4, 8, 16});
}

TEST_CASE("edge: what is assumed of a model's name is said once, however many ranks are tried") {
  const ProgramRun run = run_program("recommend --model Qwen3.5-35B-A3B-FP8 --max-model-len 128k --requests 100 "
                                     "--gpu H200 --gpus 1,2 --ttft 1s --packs 1 --modes align --quiet");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains_once(run.output, "hybridkv: Qwen3.5-35B-A3B-FP8 is planned with the layers of Qwen3.5-35B-A3B; "));
}

TEST_CASE("edge: what is wrong of a choice of GPUs is refused, with a way out") {
  const std::string plain = "recommend Qwen3.5-35B-A3B --max-model-len 128k --requests 100 ";
  require_refused(plain + "--gpus 1..4", "say which by --gpu NAME");
  require_refused(plain + "--good-share 90", "say which by --gpu NAME");
  require_refused(choice_asked, "--ttft 1s or --tpot 40ms");
  require_refused(choice_asked + "--ttft 1s --gpus 0", "GPUs are 1 to 4096");
  require_refused(choice_asked + "--ttft 1s --gpus 4097", "GPUs are 1 to 4096");
  // So many there may be: what is wrong is the share.
  require_refused(choice_asked + "--ttft 1s --gpus 4096 --good-share 0", "--good-share 0: is a share");
  require_refused(choice_asked + "--ttft 1s --gpus 4..1", "runs backwards");
  require_refused(choice_asked + "--ttft 1s --gpus some", "write it like 8, 1..16 or 4,8,16");
  require_refused(choice_asked + "--ttft 1s --gpus 3 --tp 2", "multiple of the 2 ranks");
  require_refused(choice_asked + "--ttft 1s --good-share 101", "write it like 99 or 99.9%");
  require_refused(choice_asked + "--ttft 1s --rate 1x,2x", "give one factor");
  require_refused(choice_asked + "--ttft 1s --driver closed_loop", "leave it out");
  require_refused(choice_asked + "--ttft 1s --set simulate.driver=closed_loop", "leave --driver out");
  require_refused(choice_asked + "--ttft 1s --checkpoints", "leave one of them out");
  require_refused("recommend Qwen3.5-35B-A3B --max-model-len 128k --gpu H200 --ttft 1s --prompt-tokens 370",
                  "give a trace with times");
  require_refused(choice_asked + "--ttft 1s --engine llama.cpp", "take an engine that was measured");
}
