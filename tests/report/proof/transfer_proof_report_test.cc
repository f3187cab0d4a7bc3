#include "report/proof/transfer_proof_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;
using nlohmann::json;

namespace {

using testing::contains;

const TransferAnswer& sample_transfer() {
  static const TransferAnswer answer = [] {
    const Scenario scenario = read_scenario(parse_scenario(
        "model: Qwen3.5-0.8B\nengine: {memory: 1 GiB}\nlimits: {max_model_len: 2048}\n", "small.yaml"));
    return transfer({.from = scenario, .to = scenario});
  }();
  return answer;
}

/// Every check passed, but for the one named.
TransferProof proof_with(const char* failing, std::optional<TransferFault> fault = std::nullopt) {
  TransferProof proof{.fault = fault, .planted = fault ? "rank 0 to rank 1, layer 3 kv" : "", .descriptors = 12,
                      .moved_bytes = 4096, .written_bytes = 4096, .copy_seconds = 1, .seconds = 2};
  for (const TransferCheckInfo& info : transfer_checks()) {
    CheckResult& check = proof.checks.emplace_back(CheckResult{.name = std::string(info.name), .count = 7});
    if (info.name == std::string_view(failing)) check.fail("byte 17 is 3, not 4");
  }
  return proof;
}

std::string text_of(const std::vector<TransferProof>& proofs) {
  return render_transfer_proof(sample_transfer(), proofs, Format::table);
}

}  // namespace

TEST_CASE("golden: what a proof shows, in one sentence") {
  CHECK(contains(text_of({proof_with("")}), "Every element is where it belongs"));
  CHECK(contains(text_of({proof_with("")}), "in 12 descriptors"));
  const std::string wrong = text_of({proof_with("kv-moved")});
  CHECK(contains(wrong, "FAILED"));
  CHECK(contains(wrong, "byte 17 is 3, not 4"));
  CHECK(contains(wrong, "The transfer is wrong: kv-moved found a fault."));
  TransferProof cut = proof_with("");
  cut.checks.back().status = CheckStatus::not_run;
  CHECK(contains(text_of({cut}), "Not every check could run, so nothing is shown."));
}

TEST_CASE("golden: a planted fault is caught by the check that owns it, or not at all") {
  const std::string caught = text_of({proof_with("kv-moved", TransferFault::heads_swapped)});
  CHECK(contains(caught, "Planted: heads-swapped"));
  CHECK(contains(caught, "rank 0 to rank 1, layer 3 kv"));
  CHECK(contains(caught, "The planted fault heads-swapped was caught by kv-moved."));
  CHECK(contains(text_of({proof_with("untouched", TransferFault::heads_swapped)}),
                 "The planted fault heads-swapped was NOT caught by kv-moved"));
  TransferProof no_place = proof_with("", TransferFault::wrong_group);
  no_place.no_place = "no rank keeps the same group";
  no_place.checks.clear();
  const std::vector<TransferProof> all{proof_with("kv-moved", TransferFault::heads_swapped), no_place,
                                       proof_with("", TransferFault::stale_state)};
  const std::string text = text_of(all);
  CAPTURE(text);
  CHECK(contains(text, "1 of 2 caught"));
  CHECK(contains(text, "wrong-group has no place here and does not count: no rank keeps the same group"));
  CHECK(contains(text, "stale-state was NOT caught by its check"));
  CHECK(verdict_of(all, Planted::catalogue) == Verdict::fault);
  CHECK(verdict_of(std::span(all).first(2), Planted::catalogue) == Verdict::passed);
}

TEST_CASE("law: verdicts of proofs") {
  const auto verdict = [](const TransferProof& proof) { return verdict_of(std::span(&proof, 1)); };
  CHECK(verdict(proof_with("")) == Verdict::passed);
  CHECK(verdict(proof_with("kv-moved")) == Verdict::fault);
  CHECK(verdict(proof_with("kv-moved", TransferFault::heads_swapped)) == Verdict::fault);
  CHECK(verdict(proof_with("", TransferFault::heads_swapped)) == Verdict::fault);
  TransferProof cut = proof_with("");
  cut.checks.back().status = CheckStatus::not_run;
  CHECK(verdict(cut) == Verdict::not_proven);
}

TEST_CASE("law: json and csv have every check") {
  const std::vector<TransferProof> proofs{proof_with("kv-moved", TransferFault::heads_swapped)};
  const json all = json::parse(render_transfer_proof(sample_transfer(), proofs, Format::json));
  CHECK(all["schema"] == transfer_proof_schema_id);
  CHECK(all["planted"] == 1);
  CHECK(all["caught"] == 1);
  CHECK(all["runs"][0]["fault"] == "heads-swapped");
  CHECK(all["runs"][0]["checks"].size() == transfer_checks().size());
  CHECK(all["runs"][0]["checks"][1]["status"] == "failed");
  CHECK(all["from"]["tensor_parallel"] == 1);
  CHECK(transfer_proof_table(proofs).rows().size() == transfer_checks().size());
}

TEST_CASE("edge: json says why a fault has no place, of that fault alone") {
  TransferProof no_place = proof_with("", TransferFault::wrong_group);
  no_place.no_place = "no rank keeps the same group";
  const std::vector<TransferProof> proofs{proof_with("kv-moved", TransferFault::heads_swapped), no_place};
  const json runs = json::parse(render_transfer_proof(sample_transfer(), proofs, Format::json))["runs"];
  REQUIRE(runs.size() == 2);
  CHECK_FALSE(runs[0].contains("no_place"));
  CHECK(runs[1].value("no_place", "") == "no rank keeps the same group");
}
