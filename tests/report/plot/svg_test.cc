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

TEST_CASE("law: a legend goes on in a new line where the next words would not fit, however wide their letters are") {
  SvgWriter svg;
  const std::vector<std::pair<std::string, std::string>> swatches{{"#000", "ten letter"}, {"#fff", "ten letter"}};
  // Words of 10 letters of size 11 count 10 * 11 * 0.61 = 67.1 pixels where they have to fit, and 57.2 where the next
  // swatch goes on behind them: it begins at 22 + 57.2 + 18 = 97.2 and needs as much again as 22 + 67.1, 186.3 in all.
  CHECK(svg.legend(0, 100, 187, swatches) == 112);  // one line, 12 high
  CHECK(svg.legend(0, 100, 186, swatches) == 130);  // two, 6 apart
  CHECK(svg.legend(40, 100, 187, swatches) == 112);
  CHECK(svg.legend(40, 100, 186, swatches) == 130);
}
