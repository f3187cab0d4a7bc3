#include "report/doctor_report.h"

#include <doctest/doctest.h>

#include "scenarios/read.h"
#include "tests/ask/start/log_of_text.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

std::string doctor_text(const std::string& line) {
  const StartupLog log = testing::log_of_text(line + "\nSetting attention block size to 528 tokens\n");
  return render_doctor(doctor({.log = log, .log_name = "a log", .asked = parse_scenario("{}", "nothing")}),
                       Format::table);
}

}  // namespace

TEST_CASE("edge: that the longest length is unknown is said of logs that lack it, and only of these") {
  const std::string sentence = "The log does not say the longest length";
  CHECK(testing::contains(doctor_text("model='Qwen/Qwen3.5-4B'"), sentence));
  CHECK_FALSE(testing::contains(doctor_text("model='Qwen/Qwen3.5-4B', max_seq_len=32768"), sentence));
}
