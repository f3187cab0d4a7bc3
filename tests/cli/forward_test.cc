// `verify --forward` from outside.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_program.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::run_program;

TEST_CASE("law: every shipped model, scaled down, computes through its pages what it computes without them") {
  const ProgramRun run = run_program("verify --forward --all-models --pack 3 --quiet --format json");
  REQUIRE(run.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.output);
  CHECK(report.at("passed") == true);
  std::size_t passed = 0;
  for (const auto& result : report.at("results")) {
    CAPTURE(result.dump());
    CHECK((result.at("status") == "passed" || result.at("status") == "does not apply"));
    passed += result.at("status") == "passed";
    // The layout is proven through the backend that users run as well.
    if (result.at("status") == "passed") CHECK(result.at("backends") == "unified, cascade, paged");
    CHECK(result.at("backend_difference") < 0.5);
  }
  CHECK(passed >= 20 * 28);
}

TEST_CASE("edge: a forward pass in a table, with what took place") {
  const ProgramRun run = run_program("verify --forward qwen3.5-397b --pack 5 --quiet");
  CHECK(run.exit_code == 0);
  CAPTURE(run.output);
  for (const char* part : {"Qwen3.5-397B-A17B, N = 5", "60 layers with a cache", "shared-prefix", "does not apply",
                           "unified, cascade, paged on every batch of a layer; they differ by at most",
                           "Through the pages every output equals that of the same network run dense and unpaged."})
    CHECK(contains(run.output, part));
}

TEST_CASE("fault: every fault of an engine is found, by how much is said, and the last line counts") {
  const ProgramRun run = run_program("verify --forward qwen3.5-397b --pack 3 --inject all --quiet");
  CAPTURE(run.output);
  CHECK(run.exit_code == 0);
  for (const char* fault : {"skip-zeroing", "missed-page-copy", "missed-state-copy", "wrong-accepted", "wrong-prefix",
                            "no-recompute"}) {
    CHECK(contains(run.output, fault));
    CHECK(contains(run.output, std::string("The planted fault ") + fault + " was found"));
  }
  CHECK(contains(run.output, "The planted fault early-release has no place here"));
  CHECK(run.output.ends_with("\n6 of 6 caught\n"));
}

TEST_CASE("fault: a single fault has exit code 1 where it was found, 5 where it has no place") {
  const ProgramRun found = run_program("verify --forward qwen3.5-397b --pack 3 --inject wrong-prefix --quiet");
  CHECK(found.exit_code == 1);
  CHECK(contains(found.output, "times the bound"));
  const ProgramRun without = run_program("verify --forward qwen3.5-397b --pack 3 --inject early-release --quiet");
  CHECK(without.exit_code == 5);
  CHECK(contains(without.output, "no layer has a window or chunk"));
}

TEST_CASE("edge: flags of forward passes that cannot be") {
  const auto refused = [](const char* arguments, const char* message) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CAPTURE(run.output);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, message));
  };
  refused("verify --forward qwen3.5-397b --case nothing", "--case nothing: no such case; take one of shared-prefix");
  refused("verify --forward qwen3.5-397b --case resum", "--case resum: no such case");
  refused("verify --forward qwen3.5-397b --scale 0", "--scale: is 0, but a scale divides");
  refused("verify --forward --all-models --model Qwen3.5-4B", "--all-models runs every shipped model");
  refused("verify qwen3.5-397b --all-models", "--all-models and --case belong to --forward");
  refused("verify --forward qwen3.5-397b --export somewhere", "leave out --forward");
  refused("verify --forward qwen3.5-397b --inject gremlin", "--inject gremlin: no such fault");
  refused("verify --forward qwen3.5-397b --pack 3 --inject padded-split", "the views leave the pool");
}
