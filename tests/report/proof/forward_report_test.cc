#include "report/proof/forward_report.h"

#include <doctest/doctest.h>

#include "planner/engine_rules.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

using testing::contains;

/// One case of one model that ended so.
ForwardReport run_that(ForwardStatus status) {
  ForwardResult result;
  result.status = status;
  result.max_error = status == ForwardStatus::failed ? 1 : 0;
  result.tolerance = status == ForwardStatus::does_not_apply ? 0 : 0.1;
  if (status == ForwardStatus::does_not_apply) result.message = "no layer has a state";
  if (status == ForwardStatus::failed) result.message = "an output is wrong";
  return {.model = "small", .rules = default_rules(), .layers = 2, .block_size_tokens = 16, .results = {result}};
}

std::string text_of(std::initializer_list<ForwardStatus> statuses) {
  std::vector<ForwardReport> reports;
  for (const ForwardStatus status : statuses) reports.push_back(run_that(status));
  return render_markdown(forward_report(reports));  // not wrapped
}

constexpr ForwardStatus passed = ForwardStatus::passed, failed = ForwardStatus::failed,
                        no_case = ForwardStatus::does_not_apply;
constexpr const char* equal = "Through the pages every output equals that of the same network";

}  // namespace

TEST_CASE("golden: several runs say how many failed, and of how many no case applies") {
  CHECK(contains(text_of({passed, passed}), std::string(equal) + " run dense and unpaged. 0.0 s."));
  const std::string partly = text_of({passed, no_case, passed});
  CHECK(contains(partly, equal));
  CHECK(contains(partly, "Of 1 of 3 runs no case applies, so they show nothing."));
  CHECK_FALSE(contains(partly, "failed."));
  const std::string wrong = text_of({passed, failed, no_case});
  CHECK(contains(wrong, "1 of 3 runs failed. Of 1 of 3 runs no case applies"));
  CHECK(contains(text_of({no_case, no_case}), "Nothing is shown. Of 2 of 2 runs"));
}

TEST_CASE("golden: what went wrong is said of a run alone, and of several only of those that did not pass") {
  CHECK(contains(text_of({failed}), "shared-prefix in mode none: an output is wrong\n"));
  const std::string one_of_two = text_of({passed, failed});
  CAPTURE(one_of_two);
  const std::size_t title = one_of_two.find("### small, N = 1\n");
  REQUIRE(title != std::string::npos);
  CHECK(one_of_two.find("### small", title + 1) == std::string::npos);
  CHECK(one_of_two.find("an output is wrong\n") > title);
  CHECK_FALSE(contains(text_of({passed, passed}), "### small"));
}

TEST_CASE("golden: of what took place in a case the counts are told, and those that are zero left out") {
  ForwardReport report = run_that(passed);
  ForwardResult& result = report.results.front();
  result.tokens = 9;
  result.hit_tokens = 4711;
  result.reused_blocks = 42;
  result.max_error = 0.05;  // half of the bound
  const std::string text = render_markdown(forward_report(std::vector{report}));
  CAPTURE(text);
  CHECK(contains(text, "| 9 | 4,711 |  |  |  | 42 | "));  // nothing was copied, preempted or refused
}
