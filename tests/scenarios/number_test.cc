#include "scenarios/number.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <regex.h>

#include <cstdio>
#include <limits>

namespace hybridkv::test {

namespace {

/// A POSIX extended regular expression, which the patterns of the schema are too.
class Pattern {
 public:
  explicit Pattern(const std::string& text) {
    REQUIRE(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
  }
  ~Pattern() { regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool matches(const std::string& text) const { return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_;
};

}  // namespace

TEST_CASE("golden: amounts of memory") {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"1", 1},
      {"42949672960", 42'949'672'960},
      {"40 GiB", 42'949'672'960},
      {"40GiB", 42'949'672'960},
      {"16 GB", 16'000'000'000},
      {"1 kB", 1'000},
      {"1 KiB", 1'024},
      {"0.5 MiB", 524'288},
      {"12.85 GiB", 13'797'582'438},  // 13797582438.4
      {"1.000000001 GB", 1'000'000'001},
      {"2 TiB", 2'199'023'255'552},
      {"8191 PiB", 9'222'246'136'947'933'184},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      // As flags of engines write it: a letter is a power of 1024, in either case; only kB, MB, GB are decimal.
      {"40G", 42'949'672'960},
      {"40g", 42'949'672'960},
      {"40 Gi", 42'949'672'960},
      {"40gib", 42'949'672'960},
      {"40 GB", 40'000'000'000},
      {"40gb", 40'000'000'000},
      {"512K", 524'288},
      {"1.5T", 1'649'267'441'664},
      {"7 b", 7},
  };
  for (const auto& [text, bytes] : sizes) {
    CAPTURE(text);
    CHECK(parse_size(text).problem == "");
    CHECK(parse_size(text).value == bytes);
  }
}

TEST_CASE("edge: what is no amount of memory") {
  for (const char* text : {"", " 1 GiB", "1 GiB ", "5 ", "1.5", "1. GiB", ".5 GiB", "1,5 GiB", "+1", "0x10", "GiB",
                           "1 gibb", "1 X", "1 Gbit", "1 i", "1 Bi", "1e9", "inf", "8192 PiB", "9223372036854775808",
                           "99999999999999999999 B"}) {
    CAPTURE(text);
    CHECK(parse_size(text).problem != "");
  }
}

TEST_CASE("golden: numbers of tokens, k for 1,024") {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"0", 0},          {"32768", 32'768},      {"32k", 32'768}, {"128K", 131'072},
      {"1M", 1'048'576}, {"1.5k", 1'536},        {"2 m", 2'097'152},
      {"0.5M", 524'288}, {"1.0009765625k", 1'025}, {"8796093022207M", 9'223'372'036'853'727'232},
  };
  for (const auto& [text, tokens] : counts) {
    CAPTURE(text);
    CHECK(parse_tokens(text).problem == "");
    CHECK(parse_tokens(text).value == tokens);
  }
  for (const char* text : {"", "k", "1.", "1.k", ".5k", "1.0001k", "32kb", "32 tokens", "8796093022208M",
                           "1.00000000001k", "-1k"}) {
    CAPTURE(text);
    CHECK(parse_tokens(text).problem != "");
  }
  CHECK(parse_integer("32k").problem == "is not a whole number");
}

TEST_CASE("edge: a number with separators is refused with the number itself") {
  CHECK(parse_integer("32,768").problem == "is not a whole number; write it without separators: 32768");
  CHECK(parse_tokens("1_048_576").problem == "is not a whole number; write it without separators: 1048576");
  CHECK(parse_size("42'949'672'960").problem == "is no amount of memory; write it without separators: 42949672960");
  for (const char* text : {"1,5", "1,0000", "1000,000", "1,000_000", ",100", "1,", "100", "1.000", ""})
    CHECK(without_separators(text) == "");
}

TEST_CASE("law: a fraction of a unit is exact, rounded down") {
  CHECK(rc::check("thousandths of a GiB", [] {
    const auto thousandths = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    char text[64];
    std::snprintf(text, sizeof text, "%lld.%03lld GiB", static_cast<long long>(thousandths / 1000),
                  static_cast<long long>(thousandths % 1000));
    RC_ASSERT(parse_size(text).value == thousandths * (std::int64_t{1} << 30) / 1000);
  }));
}

TEST_CASE("law: a whole number reads back, and so it does as bytes") {
  CHECK(rc::check("integers", [](std::int64_t value) {
    RC_ASSERT(parse_integer(std::to_string(value)).problem.empty());
    RC_ASSERT(parse_integer(std::to_string(value)).value == value);
    if (value >= 0) RC_ASSERT(parse_size(std::to_string(value)).value == value);
  }));
}

TEST_CASE("edge: the smallest and largest numbers, and what is none") {
  CHECK(parse_integer("-9223372036854775808").value == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_integer("9223372036854775807").value == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_integer("0").value == 0);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "0x1", "01", "-01", "1_000", "1,000", "1.0", "1e3", "nan",
                           "9223372036854775808", "-9223372036854775809"}) {
    CAPTURE(text);
    CHECK(parse_integer(text).problem != "");
  }
}

TEST_CASE("law: a range holds both ends and every step between") {
  CHECK(rc::check("ranges", [] {
    const auto first = *rc::gen::inRange<std::int64_t>(0, 1000);
    const auto steps = *rc::gen::inRange<std::int64_t>(0, 100);
    const auto step = *rc::gen::inRange<std::int64_t>(1, 50);
    const auto beyond = *rc::gen::inRange<std::int64_t>(0, step);
    const std::string text = std::to_string(first) + ".." + std::to_string(first + steps * step + beyond) +
                             " step " + std::to_string(step);
    RC_ASSERT(is_range(text));
    const ParsedRange range = parse_range(text);
    RC_ASSERT(range.problem.empty());
    RC_ASSERT(range.values.size() == static_cast<std::size_t>(steps + 1));
    for (std::size_t i = 0; i < range.values.size(); ++i)
      RC_ASSERT(range.values[i] == first + static_cast<std::int64_t>(i) * step);
  }));
}

TEST_CASE("edge: ranges without values, without end or without form") {
  CHECK(parse_range("3..3").values == std::vector<std::int64_t>{3});
  CHECK(parse_size_range("3 GiB..3 GiB").values == std::vector<std::string>{"3 GiB"});
  CHECK(parse_range("5..1").problem == "runs backwards; write the smaller number first");
  CHECK(parse_range("1..5 step 0").problem == "has the step 0");
  CHECK(parse_range("1..10001").problem == "has more than 10000 values");
  CHECK(parse_range("1..10000").values.size() == 10'000);
  CHECK(parse_range("16k..64k step 16k", NumberForm::tokens).values ==
        std::vector<std::int64_t>{16'384, 32'768, 49'152, 65'536});
  CHECK(parse_range("1k..3k", NumberForm::tokens).values == std::vector<std::int64_t>{1'024, 2'048, 3'072});
  CHECK_FALSE(is_range("16k..64k"));
  CHECK(parse_range("1..99999999999999999999").problem ==
        "holds a number that does not fit 64 bits (largest: 9223372036854775807)");
  CHECK(parse_range("0..9223372036854775807 step 9223372036854775807").values ==
        std::vector<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()});
  for (const char* text : {"", "1", "1..", "..5", "1...5", "a..b", "-1..5", "1..5 step", "1..5 step x", "1..5 by 2"}) {
    CAPTURE(text);
    CHECK_FALSE(is_range(text));
  }
}

TEST_CASE("edge: numbers with a fraction") {
  CHECK(parse_real("3").value == 3);
  CHECK(parse_real("0.25").value == 0.25);
  CHECK(parse_real("5e-5").value == 5e-5);
  for (const char* text : {"", "x", "1x", "1,5", "inf", "nan", "-inf", "1 2", "0x10", "+1"})
    CHECK(parse_real(text).problem == "is not a number");
  CHECK(parse_real("-1").problem == "is too small");
  CHECK(parse_real("1e999").problem == "is too large or too small for a number of 64 bits");
}

TEST_CASE("law: the patterns of the JSON Schema accept what the reader accepts") {
  const Pattern size(size_pattern()), range(range_pattern()), token_range(range_pattern(NumberForm::tokens)),
      tokens(tokens_pattern());
  const std::vector<std::string> pieces{"1", "05", ".", "..", " ", "B", "GiB", "kB", "KB", "step", " step ", "-",
                                        "k", "M", "g", "i", "x"};
  CHECK(rc::check("texts of pieces of sizes and ranges", [&] {
    std::string text;
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)))
      text += piece;
    const bool is_bytes = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const std::string problem = parse_size(text).problem;
    const bool reads = problem.empty() || problem.starts_with("does not fit");
    if (!is_bytes) RC_ASSERT(size.matches(text) == reads);
    RC_ASSERT(range.matches(text) == is_range(text));
    RC_ASSERT(token_range.matches(text) == is_range(text, NumberForm::tokens));
    const std::string token_problem = parse_tokens(text).problem;
    if (!is_bytes && token_problem.empty()) RC_ASSERT(tokens.matches(text));
    if (tokens.matches(text)) RC_ASSERT(token_problem.find("whole number of tokens, like") == std::string::npos);
  }));
  for (const char* text : {"40 GiB", "12.85GiB", "1 B", "16  GB"}) CHECK(size.matches(text));
  for (const char* text : {"1..16", "16..128 step 16"}) CHECK(range.matches(text));
}

}  // namespace hybridkv::test
