#include "ask/transfer/transfer_proof.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using hybridkv::testing::small_scenario;

TEST_CASE("law: a transfer is proven with the memory and seed of its scenario, and faults are caught") {
  TransferQuestion question{.from = small_scenario(), .to = small_scenario("  tensor_parallel: 2\n"), .tokens = 600};
  const TransferAnswer answer = transfer(question);
  const TransferProofAnswer plain = prove(answer, question.from, {});
  REQUIRE(plain.proofs.size() == 1);
  CHECK(plain.verdict == Verdict::passed);
  CHECK(plain.proofs[0].descriptors == answer.counts.all.descriptors);
  CHECK(plain.proofs[0].moved_bytes == answer.counts.all.bytes);
  std::vector<std::string> seen;
  const TransferProofAnswer planted =
      prove(answer, question.from, {.faults = {TransferFault::heads_swapped, TransferFault::descriptor_short}},
            [&](const std::optional<TransferFault>& fault, std::string_view, int, int) {
              if (fault && (seen.empty() || seen.back() != to_string(*fault))) seen.emplace_back(to_string(*fault));
            });
  CHECK(planted.verdict == Verdict::fault);
  CHECK(planted.proofs[0].caught());
  CHECK(planted.proofs[1].caught());
  CHECK(seen == std::vector<std::string>{"heads-swapped", "one-descriptor-short"});
}

TEST_CASE("edge: a fault without a place is one of a catalogue, but no fault to ask for") {
  TransferQuestion question{.from = small_scenario(), .to = small_scenario(), .tokens = 600};
  const TransferAnswer answer = transfer(question);
  TransferProofQuestion proof{.faults = {TransferFault::wrong_replica}};
  CHECK_THROWS_AS(prove(answer, question.from, proof), InputError);
  proof.planted = Planted::catalogue;
  CHECK(prove(answer, question.from, proof).verdict == Verdict::passed);
  question.from.verify.resident_budget_bytes = 1;
  CHECK_THROWS_AS(prove(answer, question.from, {}), ResourceError);
}
