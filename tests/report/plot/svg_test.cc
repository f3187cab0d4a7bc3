#include "report/plot/svg.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

/// The picture of one line to a point.
std::string line_to(double x, double y) {
  SvgWriter svg;
  svg.line(0, 0, x, y, "#000");
  return svg.finish(100, 100, 100, "a line", "");
}

}  // namespace

TEST_CASE("edge: numbers of a picture have at most two decimals, none where they are zero, and zero has no sign") {
  CHECK(line_to(1.239, 20).find("x2=\"1.24\" y2=\"20\"") != std::string::npos);
  CHECK(line_to(-0.001, -0.25).find("x2=\"0\" y2=\"-0.25\"") != std::string::npos);
}

TEST_CASE("edge: text of a picture is escaped, control characters are blanks") {
  CHECK(escape_xml("a<b> & \"c\"") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(escape_xml("a\nb").find('\n') == std::string::npos);
}
