#include <doctest/doctest.h>

#include <iostream>
#include <map>

#include "tests/transfer/random_pair.h"
#include "verify/transfer/transfer_proof.h"

namespace hybridkv::testing {

namespace {

/// Pools of random pairs are small.
constexpr std::int64_t law_budget_bytes = std::int64_t(512) << 20;

TEST_CASE("law: all that moves between random deployments arrives, nothing else changes, and layers go on as before") {
  PairCounts counts;
  std::map<std::string, std::int64_t> looked_at;
  std::int64_t converted = 0, present = 0;
  CHECK(check_times("transfer proofs", 500, [&] {
    const std::optional<RandomPair> pair = random_pair(counts);
    if (!pair) RC_DISCARD("refused");
    const TransferProof proof =
        prove_transfer(pair->map, pair->request, {.resident_budget_bytes = law_budget_bytes});
    if (const CheckResult* failed = proof.first_failure())
      std::cerr << failed->name << ": " << failed->message << std::endl;
    RC_ASSERT(proof.passed());
    for (const CheckResult& check : proof.checks) looked_at[check.name] += check.count > 0;
    present += pair->request.present_tokens > 0;
    for (const Content& content : pair->map.contents())
      if (content.converts()) {
        ++converted;
        break;
      }
  }));
  for (const TransferCheckInfo& info : transfer_checks()) {
    std::cerr << "  " << info.name << " " << looked_at[std::string(info.name)];
    CHECK_MESSAGE(looked_at[std::string(info.name)] >= 200, info.name);
  }
  std::cerr << "  converted " << converted << "  with a prefix " << present << std::endl;
  CHECK(converted >= 50);
  CHECK(present >= 50);
}

TEST_CASE("law: a fault planted between random deployments is found by the check that owns it") {
  PairCounts counts;
  std::map<std::string_view, int> planted;
  std::size_t next = 0;
  CHECK(check_times("transfer faults proven", 1000, [&] {
    const std::optional<RandomPair> pair = random_pair(counts);
    if (!pair) RC_DISCARD("refused");
    const TransferFaultInfo& info = all_transfer_faults()[next++ % all_transfer_faults().size()];
    const TransferProof proof = prove_transfer(pair->map, pair->request,
                                               {.resident_budget_bytes = law_budget_bytes, .fault = info.fault});
    RC_ASSERT(!proof.passed());
    RC_ASSERT(proof.planted.empty() != proof.no_place.empty());
    RC_ASSERT(proof.no_place.empty() || (proof.checks.empty() && !proof.caught()));
    if (!proof.no_place.empty()) return;
    if (!proof.caught()) std::cerr << info.name << " not found: " << proof.planted << std::endl;
    RC_ASSERT(proof.caught());
    ++planted[info.name];
  }));
  for (const TransferFaultInfo& info : all_transfer_faults()) {
    std::cerr << "  " << info.name << " " << planted[info.name];
    CHECK_MESSAGE(planted[info.name] >= 3, info.name);
  }
  std::cerr << std::endl;
}

}  // namespace

}  // namespace hybridkv::testing
