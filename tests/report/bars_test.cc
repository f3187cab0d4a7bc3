#include "report/bars.h"

#include <doctest/doctest.h>

#include <pugixml.hpp>
#include <string>

#include "base/error.h"
#include "report/html.h"
#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t mib_of_bars = 1024 * 1024;

Bars sample_bars(std::size_t number) {
  Bars bars;
  bars.kinds = {{"tokens", "K & V"}, {"padding", "lost"}, {"idle", "idle"}};
  bars.caption = "To <scale>.";
  bars.bars.push_back({"a", "one", {3 * mib_of_bars, 0, mib_of_bars}});
  bars.bars.push_back({"b", "other", {mib_of_bars, 0, mib_of_bars}});
  bars.bars.resize(number);
  return bars;
}

Document document_of(const Bars& bars) {
  Document document;
  document.blocks.emplace_back(bars);
  return document;
}

}  // namespace

TEST_CASE("golden: one bar has sizes, shares and exact bytes beside it, without what it does not have") {
  CHECK(render_text(document_of(sample_bars(1))) ==
        "one\n"
        "\n"
        "          size     share      bytes\n"
        "-----  -------  --------  ---------\n"
        "K & V  3.0 MiB   75.00 %  3,145,728\n"
        "idle   1.0 MiB   25.00 %  1,048,576\n"
        "-----  -------  --------  ---------\n"
        "all    4.0 MiB  100.00 %  4,194,304\n"
        "\n"
        "To <scale>.\n");
}

TEST_CASE("golden: several bars are columns of one table") {
  CHECK(render_markdown(document_of(sample_bars(2))) ==
        "|  | a | b |\n"
        "| :-- | --: | --: |\n"
        "| K & V | 3.0 MiB | 1.0 MiB |\n"
        "| idle | 1.0 MiB | 1.0 MiB |\n"
        "| **all** | **4.0 MiB** | **2.0 MiB** |\n"
        "\n"
        "To \\<scale>.\n");
}

TEST_CASE("law: on a page bars are to one scale, and so are their parts, which say their bytes") {
  const std::string html = render_html(document_of(sample_bars(2)));
  pugi::xml_document page;
  REQUIRE(page.load_string(html.c_str()));
  std::vector<std::string> widths;
  for (const auto& bar : page.select_nodes("//div[@class='bar']"))
    widths.emplace_back(bar.node().attribute("style").value());
  CHECK(widths == std::vector<std::string>{"width: 100.000%", "width: 50.000%"});
  const pugi::xml_node part = page.select_node("//div[@class='bar']/span").node();
  CHECK(std::string(part.attribute("class").value()) == "tone-tokens");
  CHECK(std::string(part.attribute("style").value()) == "width: 75.000%");
  CHECK(std::string(part.attribute("title").value()) == "K & V: 3,145,728 bytes (3 MiB), 75.00 %");
  CHECK(page.select_nodes("//div[@class='bar']/span").size() == 4);  // two of each bar: what is 0 is not drawn
  CHECK(page.select_nodes("//td/span[@class='swatch tone-tokens']").size() == 1);
  CHECK(contains(html, ".tone-padding {"));
}

TEST_CASE("law: on a page the exact number stands behind every one that is rounded") {
  const std::string html = render_html(document_of(sample_bars(1)));
  CHECK(contains(html, "<td title=\"3145728 bytes\">3.0 MiB</td>"));
  CHECK(contains(html, "<td title=\"75 %\">75.00 %</td>"));
  CHECK(contains(html, "<td>3,145,728</td>"));
}

TEST_CASE("edge: a bar without a byte is drawn, one without its numbers is a bug") {
  Bars bars = sample_bars(1);
  bars.bars.front().bytes = {0, 0, 0};
  CHECK(contains(render_html(document_of(bars)), "<div class=\"bar\" style=\"width: 0.000%\"></div>"));
  bars.bars.front().bytes = {1};
  CHECK_THROWS_AS(bars_table(bars), std::logic_error);
}
