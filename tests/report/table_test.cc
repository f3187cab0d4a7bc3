#include "report/table.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "report/human.h"
#include "report/json_text.h"
#include "report/text.h"

using namespace hybridkv;

namespace {

Table sample_table() {
  Table table({{"pack", "N"},
               {"name", "name", "", Align::left},
               {"page_bytes", "page", "bytes"},
               {"request_bytes", "request", "a request"},
               {"padding_percent", "padding"},
               {"concurrency", "fit"},
               {"fits", "fits", "", Align::left, Audience::people},
               {"groups", "groups", "", Align::right, Audience::programs}});
  table.add_row({std::int64_t{1}, "größe|a", std::int64_t{2146304}, ByteCount{708280320}, Percent{0.57581573896353},
                 Real{60.63636}, true, std::int64_t{4}});
  table.add_row(
      {std::int64_t{15}, "日本", std::int64_t{512}, ByteCount{512}, {}, Real{1234.5, 1}, false, std::int64_t{46}});
  return table;
}

}  // namespace

TEST_CASE("edge: the terminal form is aligned by columns, not bytes") {
  CHECK(render_text(sample_table()) ==
        " N  name          page    request  padding      fit  fits\n"
        "                 bytes  a request\n"
        "--  -------  ---------  ---------  -------  -------  ----\n"
        " 1  größe|a  2,146,304  675.5 MiB   0.58 %    60.64  yes\n"
        "15  日本           512      512 B           1,234.5  no\n");
  CHECK(text_width(sample_table()) == 57);
}

TEST_CASE("edge: a marked row and a footer are set apart") {
  Table table({{"what", "what", "", Align::left}, {"bytes", "bytes"}});
  table.add_row({"used", std::int64_t{1000}});
  table.add_row({"free", std::int64_t{24}});
  table.set_footer({"all", std::int64_t{1024}});
  table.mark_row(1);
  CHECK(render_text(table) ==
        "  what  bytes\n"
        "  ----  -----\n"
        "  used  1,000\n"
        "* free     24\n"
        "  ----  -----\n"
        "  all   1,024\n");
  CHECK(render_markdown(table) ==
        "| what | bytes |\n| :-- | --: |\n| used | 1,000 |\n| **free** | **24** |\n| **all** | **1,024** |\n");
  CHECK(render_csv(table) == "what,bytes\nused,1000\nfree,24\n");
  CHECK(render_text(table, {.colour = true}).find("\x1b[32m* free     24\x1b[0m\n") != std::string::npos);
}

TEST_CASE("edge: Markdown keeps bars inside their cell") {
  CHECK(render_markdown(sample_table()) ==
        "| N | name | page bytes | request a request | padding | fit | fits |\n"
        "| --: | :-- | --: | --: | --: | --: | :-- |\n"
        "| 1 | größe\\|a | 2,146,304 | 675.5 MiB | 0.58 % | 60.64 | yes |\n"
        "| 15 | 日本 | 512 | 512 B |  | 1,234.5 | no |\n");
}

TEST_CASE("edge: programs get names and raw numbers") {
  CHECK(render_csv(sample_table()) ==
        "pack,name,page_bytes,request_bytes,padding_percent,concurrency,groups\n"
        "1,größe|a,2146304,708280320,0.57581573896353,60.63636,4\n"
        "15,日本,512,512,,1234.5,46\n");
  CHECK(to_json(sample_table()).dump() ==
        R"([{"pack":1,"name":"größe|a","page_bytes":2146304,"request_bytes":708280320,)"
        R"("padding_percent":0.57581573896353,"concurrency":60.63636,"groups":4},)"
        R"({"pack":15,"name":"日本","page_bytes":512,"request_bytes":512,"padding_percent":null,)"
        R"("concurrency":1234.5,"groups":46}])");
}

TEST_CASE("edge: csv quotes what RFC 4180 quotes") {
  Table table({{"a,b", ""}, {"c", ""}});
  table.add_row({"plain", "with, comma"});
  table.add_row({"with \"quote\"", "two\nlines"});
  table.add_row({" spaces ", "carriage\rreturn"});
  table.add_row({"", std::monostate{}});
  CHECK(render_csv(table) ==
        "\"a,b\",c\n"
        "plain,\"with, comma\"\n"
        "\"with \"\"quote\"\"\",two lines\n"
        " spaces ,carriage return\n"
        ",\n");
}

TEST_CASE("edge: numbers that are none have no raw form") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(raw_cell(Real{inf}) == "");
  CHECK(human_cell(Real{inf}) == "inf");
  Table table({Column{"a", ""}});
  table.add_row({Percent{std::numeric_limits<double>::quiet_NaN()}});
  CHECK(to_json(table).dump() == R"([{"a":null}])");
  CHECK(raw_cell(true) == "true");
  CHECK(raw_cell(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

TEST_CASE("fault: a row that does not fit its columns is refused") {
  Table table({{"a", ""}, {"b", ""}});
  CHECK_THROWS_AS(table.add_row({std::int64_t{1}}), std::logic_error);
  CHECK_THROWS_AS(table.set_footer({}), std::logic_error);
  CHECK_THROWS_AS(table.mark_row(0), std::logic_error);
}

TEST_CASE("law: csv reads back as the cells, and a raw real as the number") {
  CHECK(rc::check("csv", [](double number) {
    // Texts that a spreadsheet and a terminal may have as they are; what becomes of others is the edge below.
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab1 ,;\"'|"))));
    Table table({{"text", ""}, {"number", ""}});
    for (const std::string& text : texts) table.add_row({text, Real{number}});
    const std::string csv = render_csv(table);
    // An independent reader: a state machine over the bytes, quotes doubled inside quotes.
    std::vector<std::string> fields{""};
    bool quoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
      if (csv[i] == '"' && quoted && i + 1 < csv.size() && csv[i + 1] == '"')
        fields.back() += csv[++i];
      else if (csv[i] == '"')
        quoted = !quoted;
      else if (!quoted && (csv[i] == ',' || csv[i] == '\n'))
        fields.emplace_back();
      else
        fields.back() += csv[i];
    }
    RC_ASSERT(fields.size() == 2 * texts.size() + 3);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      RC_ASSERT(fields[2 * row + 2] == texts[row]);
      RC_ASSERT(std::stod(fields[2 * row + 3]) == number);
    }
  }));
}

TEST_CASE("law: every line of a terminal table is as wide as its dashes at most") {
  CHECK(rc::check("alignment", [] {
    const std::vector<std::string> pieces{"a", "größe", "日本", "🙂", "\n", "|", " "};
    const auto cell = [&] {
      std::string text;
      for (auto i : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 7))) text += pieces[std::size_t(i)];
      return text;
    };
    Table table({{"a", "left", "", Align::left}, {"b", "right"}});
    const int rows = *rc::gen::inRange(0, 5);
    for (int row = 0; row < rows; ++row) table.add_row({cell(), cell() + "."});
    const std::string text = render_text(table);
    std::vector<std::size_t> widths;
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      widths.push_back(display_width(std::string_view(text).substr(begin, text.find('\n', begin) - begin)));
    RC_ASSERT(widths.size() == std::size_t(rows) + 2);
    // The last column is aligned right and never empty, so that all lines end in the same column.
    for (std::size_t width : widths) RC_ASSERT(width == widths[1]);
  }));
}

TEST_CASE("edge: text in CSV is no formula of a spreadsheet and drives no terminal; numbers stay numbers") {
  CHECK(csv_cell(std::string("=1+1")) == "'=1+1");
  CHECK(csv_cell(std::string("  =HYPERLINK(\"x\",1)")) == "\"'  =HYPERLINK(\"\"x\"\",1)\"");
  CHECK(csv_cell(std::string("@sum")) == "'@sum");
  CHECK(csv_cell(std::string("\t=1")) == "' =1");
  CHECK(csv_cell(std::string("-cmd")) == "'-cmd");
  CHECK(csv_cell(std::string("+1+cmd")) == "'+1+cmd");
  CHECK(csv_cell(std::string("-")) == "'-");
  CHECK(csv_cell(std::string("\uff1d1")) == "'\uff1d1");
  for (const char* plain : {"", " ", "-5", "+2.5e3", "a=b", "plain", "'=1"})
    CHECK(csv_cell(std::string(plain)) == plain);
  CHECK(csv_cell(std::int64_t{-5}) == "-5");
  CHECK(csv_cell(Real{-0.5}) == "-0.5");
  CHECK(csv_cell(std::string("a\x1b[31m\u202eb\xff")) == "a [31m b\ufffd");
  Table table({{"=name"}, {"value"}});
  table.add_row({std::string("=1+1"), std::int64_t{-1}});
  CHECK(render_csv(table) == "'=name,value\n'=1+1,-1\n");
}
