#include "base/number_text.h"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <limits>
#include <string>

using namespace hybridkv;

TEST_CASE("golden: sizes are written as in the published tables") {
  CHECK(human_count(2146304) == "2,146,304");
  CHECK(human_bytes(std::int64_t{8192} * 10000 * 128 * 2) == "19.53 GiB");
  CHECK(human_bytes(std::int64_t{8192} * 64 * 128 * 2) == "128 MiB");
  CHECK(human_bytes(22 * std::int64_t{15} * 2146304) == "675.5 MiB");
  CHECK(human_bytes(44 * std::int64_t{8} * 2162688, Decimals::fixed) == "726.0 MiB");
  CHECK(human_bytes(std::int64_t{40} << 30) == "40 GiB");
  CHECK(human_percent(100.0 * (2146304 - 2134016) / 2134016) == "0.58 %");
  CHECK(human_ratio(26.6204) == "26.62x");
  CHECK(human_plural(1, "block") == "1 block");
  CHECK(human_plural(1334, "block") == "1,334 blocks");
}

TEST_CASE("edge: counts and reals at the ends of their range") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1000) == "1,000");
  CHECK(human_count(-1000) == "-1,000");
  CHECK(human_count(-999999) == "-999,999");
  CHECK(human_count(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(human_real(-1234567.891, 1) == "-1,234,567.9");
  CHECK(human_real(1234, 0) == "1,234");
  CHECK(human_real(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(human_real(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("edge: a size that rounds up to the next unit is shown in it") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1 KiB");
  CHECK(human_bytes(1024, Decimals::fixed) == "1.0 KiB");
  CHECK(human_bytes(1024 * 1024 - 1) == "1.0 MiB");
  CHECK(human_bytes((std::int64_t{1} << 30) - 1, Decimals::fixed) == "1.00 GiB");
  CHECK(human_bytes(std::numeric_limits<std::int64_t>::max()) == "8 EiB");
  CHECK(human_bytes(-1536) == "-1.5 KiB");
  CHECK(exact_bytes(1) == "1 byte");
  CHECK(exact_bytes(2211840) == "2,211,840 bytes (2.1 MiB)");
}

TEST_CASE("law: a count without its separators is the count") {
  CHECK(rc::check("human_count keeps every digit", [](std::int64_t value) {
    std::string text = human_count(value);
    std::erase(text, ',');
    RC_ASSERT(text == std::to_string(value));
  }));
}
