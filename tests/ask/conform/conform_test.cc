// A driver that answers from a record of vLLM 0.33.0 stands for the engine.
#include "ask/conform/conform.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engines/vllm/engine.h"
#include "scenarios/model_library.h"
#include "test_paths.h"

using namespace hybridkv;
using nlohmann::ordered_json;

namespace {

/// What is agreed on, and what is handed on for tests to keep.
struct Asked {
  ConformAnswer answer;
  std::vector<ordered_json> records;
};

/// Asks the recorded driver, which does as it is told: "agrees", "unasked".
Asked asked_of_record(const std::string& kind) {
  const ConformQuestion question{
      .engine = &vllm_0_33,
      .driver = {"env", "HYBRIDKV_FAKE_DRIVER=" + kind, "python3", "-B", HYBRIDKV_TEST_DATA "/conform/recorded.py"},
      .grid = {.models = {find_shipped_model("Qwen3.5-0.8B")->model}}};
  Asked asked;
  asked.answer = conform(question, {}, [&](const ordered_json& record) { asked.records.push_back(record); });
  return asked;
}

}  // namespace

TEST_CASE("golden: every figure of the record is ours, and each case is handed on with what was answered") {
  const Asked asked = asked_of_record("agrees");
  CHECK(asked.answer.agrees());
  CHECK(asked.answer.equal > 0);
  CHECK(asked.answer.refused > 0);
  REQUIRE(std::ssize(asked.records) == asked.answer.cases);
  for (std::size_t i = 0; i < asked.records.size(); ++i) {
    const ordered_json& record = asked.records[i];
    CHECK(record.at("id").get<std::size_t>() == i);
    CHECK(record.at("version") == "0.33.0");
    CHECK(record.contains("figures") != record.contains("refused"));
  }
}

TEST_CASE("edge: a case that was not put to the engine leaves no record") {
  const Asked asked = asked_of_record("unasked");
  CHECK(asked.answer.not_asked.at("the architecture of a model") == 1);
  REQUIRE(std::ssize(asked.records) == asked.answer.cases - 1);
  CHECK(asked.records.front().at("id") == 1);
}

TEST_CASE("edge: a driver that there is not, and one that ends before it answers") {
  const auto ask = [](std::vector<std::string> words) {
    conform({.engine = &vllm_0_33,
             .driver = std::move(words),
             .grid = {.models = {find_shipped_model("Qwen3.5-0.8B")->model}}});
  };
  CHECK_THROWS_WITH_AS(ask({"/nobody/python"}), doctest::Contains("/nobody/python: cannot be run; --python names"),
                       ProgramError);
  CHECK_THROWS_WITH_AS(ask({"sh", "-c", "echo not today >&2"}),
                       "the driver in sh ended before it had answered: not today", InputError);
}

TEST_CASE("law: nothing that led to a driver stays open") {
  const auto lowest_free = [] {
    const int descriptor = open("/dev/null", O_RDONLY);
    close(descriptor);
    return descriptor;
  };
  const ConformQuestion ends{.engine = &vllm_0_33,
                             .driver = {"sh", "-c", "exit 1"},
                             .grid = {.models = {find_shipped_model("Qwen3.5-0.8B")->model}}};
  const auto ask_one_that_ends = [&] { CHECK_THROWS_AS(conform(ends), InputError); };
  ask_one_that_ends();  // what is opened once for all is open from here on
  const int before = lowest_free();
  ask_one_that_ends();
  CHECK(lowest_free() == before);
}
