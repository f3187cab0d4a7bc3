#include "report/proof/verify_report.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

VerifyReport planted(Fault fault, CheckStatus status, std::string no_place = "") {
  VerifyReport report{.fault = fault, .no_place = std::move(no_place)};
  if (report.no_place.empty()) report.checks.push_back({.name = "states-written", .status = status});
  return report;
}

std::string text_of(const std::vector<VerifyReport>& reports) {
  return render_verify({"model", "rules of a test"}, reports, Format::table, {});
}

}  // namespace

TEST_CASE("law: of several planted faults the last line counts those caught of those that had a place") {
  const VerifyReport caught = planted(Fault::lost_state, CheckStatus::failed);
  const VerifyReport missed = planted(Fault::lost_kv, CheckStatus::passed);
  const VerifyReport without = planted(Fault::narrow_offsets, CheckStatus::passed, "its offsets are small");
  CHECK(caught.caught());
  CHECK_FALSE(missed.caught());
  CHECK_FALSE(without.caught());
  CHECK_FALSE(without.passed());
  CHECK(text_of({caught, caught, without}).ends_with("\n2 of 2 caught\n"));
  const std::string text = text_of({caught, missed, without});
  CHECK(text.ends_with("\n1 of 2 caught\n"));
  // Nothing was timed, and what has no place is a note: only what nobody caught is a warning.
  CHECK(text.find("\n  time  0.0 s\n") != std::string::npos);
  CHECK(text.find("\n- N = 1, narrow-offsets") != std::string::npos);
  CHECK(text.find("\n! N = 1, lost-kv") != std::string::npos);
  CHECK(text.find("lost-kv was NOT caught by any check") != std::string::npos);
  CHECK(text.find("narrow-offsets has no place in this plan and does not count: its offsets are small") !=
        std::string::npos);
  // A single one is shown whole.
  CHECK(text_of({caught}).find("The planted fault lost-state was caught by states-written.") != std::string::npos);
  CHECK(text_of({missed}).find("The planted fault lost-kv was NOT caught by any check") != std::string::npos);
}

TEST_CASE("edge: how far blocks reach is said where some were written, and from where on that is beyond 32 bits") {
  // Nothing is written where the addresses are wrong already.
  VerifyReport report{.checks = {{.name = "alignment", .status = CheckStatus::passed}}};
  CHECK(text_of({report}).find("element offsets") == std::string::npos);
  report.max_element_offset = std::int64_t{1} << 31;
  CHECK(text_of({report}).find("element offsets up to 2,147,483,648\n") != std::string::npos);
  ++report.max_element_offset;
  CHECK(text_of({report}).find("element offsets up to 2,147,483,649, beyond 2^31\n") != std::string::npos);
}

TEST_CASE("law: csv and json name what had no place, and json counts") {
  const std::vector<VerifyReport> reports{planted(Fault::lost_state, CheckStatus::failed),
                                          planted(Fault::narrow_offsets, CheckStatus::passed, "its offsets are small")};
  const std::string csv = render_verify({"model", "rules of a test"}, reports, Format::csv);
  CHECK(csv.find("narrow-offsets,address-audit-sampled,no place,") != std::string::npos);
  const std::string json = render_verify({"model", "rules of a test"}, reports, Format::json);
  CHECK(json.find("\"planted\": 1") != std::string::npos);
  CHECK(json.find("\"caught\": 1") != std::string::npos);
  CHECK(json.find("\"no_place\": \"its offsets are small\"") != std::string::npos);
  const std::vector<VerifyReport> plain{VerifyReport{}};
  CHECK(render_verify({"model", "rules of a test"}, plain, Format::json).find("planted") == std::string::npos);
}
