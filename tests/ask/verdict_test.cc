#include "ask/verdict.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "verify/forward/forward.h"
#include "verify/verify.h"

using namespace hybridkv;

namespace {

VerifyReport verified(CheckStatus status, std::optional<Fault> fault = {}) {
  return {.fault = fault, .checks = {{.name = "alignment", .status = status}}};
}

ForwardReport forwarded(ForwardStatus status, std::optional<ForwardFault> fault = {}) {
  const bool found = status == ForwardStatus::failed;
  return {.fault = fault, .results = {{.status = status, .max_error = found ? 2.0 : 0.5, .tolerance = 1}}};
}

Verdict of(const std::vector<VerifyReport>& reports, Planted planted = Planted::no_or_single) {
  return verdict_of(reports, planted);
}

Verdict of(const std::vector<ForwardReport>& reports, Planted planted = Planted::no_or_single) {
  return verdict_of(reports, planted);
}

}  // namespace

TEST_CASE("law: several verifications are worth as much as the worst of them") {
  const VerifyReport passed = verified(CheckStatus::passed), failed = verified(CheckStatus::failed),
                     no_codec = verified(CheckStatus::no_codec), not_run = verified(CheckStatus::not_run);
  CHECK(of(std::vector<VerifyReport>{}) == Verdict::passed);
  CHECK(of(std::vector{passed, passed}) == Verdict::passed);
  CHECK(of(std::vector{passed, no_codec}) == Verdict::not_proven);
  CHECK(of(std::vector{no_codec, failed, passed}) == Verdict::fault);
  CHECK(of(std::vector{passed, not_run}) == Verdict::fault);  // nothing says that it would have passed
  CHECK(of(std::vector{verified(CheckStatus::failed, Fault::lost_kv)}) == Verdict::fault);
}

TEST_CASE("law: of a catalogue each fault that has a place must be caught") {
  const VerifyReport caught = verified(CheckStatus::failed, Fault::lost_state);
  const VerifyReport missed = verified(CheckStatus::passed, Fault::lost_kv);
  const VerifyReport no_place{.fault = Fault::narrow_offsets, .no_place = "its offsets are small"};
  CHECK(of(std::vector{caught, no_place}, Planted::catalogue) == Verdict::passed);
  CHECK(of(std::vector{caught, missed}, Planted::catalogue) == Verdict::fault);
}

TEST_CASE("law: forward passes are judged by the same words") {
  const ForwardReport passed = forwarded(ForwardStatus::passed), failed = forwarded(ForwardStatus::failed),
                      nothing = forwarded(ForwardStatus::does_not_apply);
  CHECK(of(std::vector{passed, passed}) == Verdict::passed);
  CHECK(of(std::vector{passed, nothing}) == Verdict::not_proven);
  CHECK(of(std::vector{nothing, failed}) == Verdict::fault);
  const ForwardReport caught = forwarded(ForwardStatus::failed, ForwardFault::wrong_prefix);
  const ForwardReport missed = forwarded(ForwardStatus::missed, ForwardFault::wrong_prefix);
  CHECK(of(std::vector{missed}) == Verdict::not_proven);
  CHECK(of(std::vector{caught, nothing}, Planted::catalogue) == Verdict::passed);
  CHECK(of(std::vector{caught, missed}, Planted::catalogue) == Verdict::fault);
}
