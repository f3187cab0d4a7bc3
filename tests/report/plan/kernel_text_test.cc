#include "report/plan/kernel_text.h"

#include <doctest/doctest.h>

#include "report/json_archive.h"
#include "report/plan/kernel_json.h"

using namespace hybridkv;

namespace {

const KernelFit fine{"a 1", KernelVerdict::fits, {"it takes all"}};
const KernelFit refusing{"b 1", KernelVerdict::refuses, {"k is 5", "v is 6"}};
const KernelFit corrupting{"b 1", KernelVerdict::corrupts, {"k is 7"}};

}  // namespace

TEST_CASE("rule: what refuses a layout or corrupts it is a warning, the other kernels follow") {
  Document document;
  add_kernels(document, {fine, refusing});
  CHECK(render_text(document) == "! b 1 would refuse this layout: k is 5; v is 6.\n\n- a 1 fits: it takes all.\n");
  Document clean;
  add_kernels(clean, {fine});
  CHECK(render_text(clean) == "- a 1 fits: it takes all.\n");
  CHECK(kernel_harms({fine, refusing, corrupting}).size() == 2);
  CHECK(kernel_headline(refusing) == "b 1 would refuse this layout: k is 5");
}

TEST_CASE("rule: the table has a row a kernel and a column a layout, one that was not planned empty") {
  const Table table = kernel_table({{"x", {fine, corrupting}}, {"y", {}}, {"z", {fine, refusing}}});
  REQUIRE(table.rows().size() == 2);
  CHECK(table.columns().size() == 4);
  CHECK(std::get<std::string>(table.rows()[1][0]) == "b 1");
  CHECK(std::get<std::string>(table.rows()[1][1]) == "corrupts");
  CHECK(std::get<std::string>(table.rows()[1][2]).empty());
  CHECK(std::get<std::string>(table.rows()[1][3]) == "refuses");
  CHECK_FALSE(table.is_marked(0));
  CHECK(table.is_marked(1));
  CHECK(kernel_table({{"x", {}}}).rows().empty());
}

TEST_CASE("rule: a first screen has what corrupts alone, with the layout and the numbers") {
  const Listing listing = kernel_corruptions({{"N = 1", {fine, refusing}}, {"N = 5", {fine, corrupting}}});
  CHECK(listing.warning);
  CHECK(listing.items == std::vector<std::string>{"N = 5: b 1 would silently corrupt this layout: k is 7"});
  CHECK(std::get<std::string>(worst_verdict_cell({fine, corrupting})) == "corrupts");
  CHECK(std::get<std::string>(worst_verdict_cell({})).empty());
}

TEST_CASE("golden: a fit as JSON is an object of kernel, verdict and reasons") {
  CHECK(JsonWriter::encode(std::vector{refusing}).dump() ==
        R"([{"kernel":"b 1","verdict":"refuses","reasons":["k is 5","v is 6"]}])");
}
