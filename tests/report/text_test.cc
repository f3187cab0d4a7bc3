#include "report/text.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

using namespace hybridkv;

TEST_CASE("edge: width counts columns, not bytes") {
  CHECK(display_width("block") == 5);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("e\u0301") == 1);       // a combining accent
  CHECK(display_width("日本") == 4);          // wide
  CHECK(display_width("🙂") == 2);
  CHECK(display_width("a\xff\xfe") == 3);     // not UTF-8
  CHECK(display_width("a\xe6\x97") == 3);     // cut in the middle of a character
  CHECK(display_width("") == 0);
}

TEST_CASE("edge: wrapping breaks at spaces only") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("   ", 10).empty());
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("extraordinarily long", 5) == std::vector<std::string>{"extraordinarily", "long"});
  CHECK(wrap("日本 日本 日本", 9) == std::vector<std::string>{"日本 日本", "日本"});
}

TEST_CASE("law: wrapping keeps the words and the width") {
  CHECK(rc::check("wrap", [] {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
    const auto width = *rc::gen::inRange<std::size_t>(1, 30);
    const auto joined = [](const std::vector<std::string>& parts) {
      return std::accumulate(parts.begin(), parts.end(), std::string(),
                             [](const std::string& a, const std::string& b) { return a.empty() ? b : a + " " + b; });
    };
    const std::vector<std::string> lines = wrap(joined(words), width);
    RC_ASSERT(joined(lines) == joined(words));
    for (const std::string& line : lines)
      RC_ASSERT(line.size() <= width || line.find(' ') == std::string::npos);
  }));
}

TEST_CASE("edge: a long command is broken before its flags, as a shell takes it, and never inside quotes") {
  CHECK(wrap_command("hybridkv plan x --pack 5", 24) == std::vector<std::string>{"hybridkv plan x --pack 5"});
  CHECK(wrap_command("hybridkv plan x --pack 5 -o out --tp 2", 24) ==
        std::vector<std::string>{"hybridkv plan x \\", "    --pack 5 -o out \\", "    --tp 2"});
  CHECK(wrap_command("plan 'a --b -c' --d 'it'\\''s --e' -f", 12) ==
        std::vector<std::string>{"plan 'a --b -c' \\", "    --d 'it'\\''s --e' \\", "    -f"});
}

TEST_CASE("edge: Markdown shows the text as written") {
  CHECK(escape_markdown("B = A * ceil(M / (A * N))") == "B = A * ceil(M / (A * N))");
  CHECK(escape_markdown("*bold* _it_ full_attention") == "\\*bold\\* \\_it\\_ full_attention");
  CHECK(escape_markdown("<b>`x`[y](z)\\") == "\\<b>\\`x\\`\\[y](z)\\\\");
  CHECK(escape_markdown("a|b") == "a|b");
  CHECK(escape_markdown("a|b", true) == "a\\|b");
  CHECK(escape_markdown("# title") == "\\# title");
  CHECK(escape_markdown("- item") == "\\- item");
  CHECK(escape_markdown("-1") == "-1");
}

TEST_CASE("edge: colour only where asked for") {
  CHECK(bold("x", {}) == "x");
  CHECK(bold("x", {.colour = true}) == "\x1b[1mx\x1b[0m");
  CHECK(bold("", {.colour = true}) == "");
}
