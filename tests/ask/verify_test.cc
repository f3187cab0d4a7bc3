#include "ask/verify.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/ask/asked.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: packs to verify are those chosen, else those of the section verify, else all") {
  Scenario scenario;
  scenario.pack_sizes = {1, 2, 3};
  CHECK(verified_packs(scenario, false) == std::vector<std::int64_t>{1, 2, 3});
  scenario.verify.pack_sizes = {4};
  CHECK(verified_packs(scenario, false) == std::vector<std::int64_t>{4});
  CHECK(verified_packs(scenario, true) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("golden: a scenario verified plan by plan and fault by fault") {
  const Scenario scenario = small_scenario("", "verify: {requests: [40, 20], seed: 7}\n");
  const VerifySpec spec = verify_spec(scenario);
  CHECK(spec.seed == 7);
  REQUIRE(spec.requests.size() == 2);
  CHECK(spec.requests[0].tokens == 40);
  CHECK(spec.requests[1].tokens == 20);
  std::vector<std::int64_t> seen;
  const VerifyAnswer plain = verify_scenario(
      scenario, {.pack_sizes = {1, 2}},
      [&](const CachePlan& plan, const std::optional<Fault>& fault, std::string_view, int, int) {
        CHECK_FALSE(fault.has_value());
        if (seen.empty() || seen.back() != plan.attention_pack_size) seen.push_back(plan.attention_pack_size);
      });
  CHECK(plain.plans.plans.size() == 2);
  CHECK(plain.reports.size() == 2);
  CHECK(plain.verdict == Verdict::passed);
  CHECK(seen == std::vector<std::int64_t>{1, 2});
  const VerifyAnswer planted = verify_scenario(scenario, {.pack_sizes = {2}, .faults = {Fault::lost_kv}});
  CHECK(planted.reports.at(0).caught());
  CHECK(planted.verdict == Verdict::fault);
}

TEST_CASE("golden: the batch of a verification is exported where that is asked for") {
  const ScratchFolder folder;
  VerifyQuestion question{.pack_sizes = {1}, .faults = {std::nullopt}};
  question.export_folder = folder.path / "batch";
  CHECK(verify_scenario(small_scenario(), question).verdict == Verdict::passed);
  CHECK(std::filesystem::exists(question.export_folder));
  CHECK_FALSE(std::filesystem::is_empty(question.export_folder));
}

TEST_CASE("fault: a fault without a place is refused by name and passed over in a catalogue") {
  const Scenario scenario = small_scenario();
  VerifyQuestion question{.pack_sizes = {1}, .faults = {Fault::pack_reversed}};
  CHECK_THROWS_AS(verify_scenario(scenario, question), InputError);
  question.planted = Planted::catalogue;
  const VerifyAnswer answer = verify_scenario(scenario, question);
  CHECK_FALSE(answer.reports.at(0).no_place.empty());
  CHECK(answer.verdict == Verdict::passed);
}
