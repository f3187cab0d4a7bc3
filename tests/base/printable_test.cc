#include "base/printable.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/utf8.h"

using namespace hybridkv;

TEST_CASE("edge: control characters never reach the terminal") {
  CHECK(printable("a\nb\tc") == "a b c");
  CHECK(printable("\x1b[31mred") == " [31mred");
  CHECK(printable("\xc2\x9b" "31mred") == " 31mred");  // the one-character form of the escape
  CHECK(printable("größe 日本 e\u0301 👩\u200d🔬") == "größe 日本 e\u0301 👩\u200d🔬");
  CHECK(printable_lines("one\x1b[2J\ntwo\r\n") == "one [2J\ntwo \n");
}

TEST_CASE("edge: nothing turns the writing direction or hides in a name") {
  CHECK(printable("a\u202eb\u2066c\u2069d") == "a b c d");
  CHECK(printable("\u200e\u200f\u061c\ufeff\u2028\u2029\u2060") == "       ");
  CHECK(printable("\U000e0041") == " ");
}

TEST_CASE("edge: the last two code points of a plane are no characters, those before them are") {
  CHECK(printable("\xef\xbf\xbe\xef\xbf\xbf") == "  ");                        // U+FFFE and U+FFFF
  CHECK(printable("\xf0\x9f\xbf\xbe\xf4\x8f\xbf\xbf") == "  ");                // U+1FFFE and U+10FFFF
  CHECK(printable("\xef\xbf\xbd\xf0\x9f\xbf\xbd") == "\xef\xbf\xbd\xf0\x9f\xbf\xbd");  // U+FFFD and U+1FFFD
}

TEST_CASE("edge: what is no UTF-8 is one replacement character a byte") {
  CHECK(printable("a\xff\xfe") == "a\ufffd\ufffd");
  CHECK(printable("\xe6\x97") == "\ufffd\ufffd");              // cut in the middle of a character
  CHECK(printable("\xc0\x9b") == "\ufffd\ufffd");              // overlong
  CHECK(printable("\xe0\x82\x9b") == "\ufffd\ufffd\ufffd");    // overlong
  CHECK(printable("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");    // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\ufffd\ufffd\ufffd\ufffd");  // past the last one
}

TEST_CASE("law: whatever bytes there are, the result is UTF-8 without an unprintable character, and stays as it is") {
  CHECK(rc::check("printable", [](const std::string& bytes) {
    const std::string shown = printable(bytes);
    for (std::string_view rest = shown; !rest.empty();) {
      const Utf8Character next = decode_utf8(rest);
      RC_ASSERT(next.valid);
      RC_ASSERT(!is_unprintable(next.code_point));
      rest.remove_prefix(next.length);
    }
    RC_ASSERT(printable(shown) == shown);
  }));
}
