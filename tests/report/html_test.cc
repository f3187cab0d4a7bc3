#include "report/html.h"

#include <doctest/doctest.h>

#include <pugixml.hpp>
#include <set>
#include <string>

#include "report/plan/scenario_report.h"
#include "report/plot/svg.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The page as XML, which it also is.
pugi::xml_document parsed(const std::string& html) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(html.data(), html.size());
  CAPTURE(result.description());
  REQUIRE(result);
  return document;
}

/// Every id of the page, each once; and that every reference to an id finds it.
void check_ids(const pugi::xml_document& document) {
  std::set<std::string> ids;
  for (const auto& node : document.select_nodes("//@id")) CHECK(ids.insert(node.attribute().value()).second);
  for (const auto& node : document.select_nodes("//@*[name()='href' or name()='xlink:href']")) {
    const std::string target = node.attribute().value();
    if (target.starts_with("data:")) continue;
    CAPTURE(target);
    REQUIRE(target.starts_with("#"));
    CHECK(ids.contains(target.substr(1)));
  }
}

Document sample_document() {
  Document document;
  document.blocks.emplace_back(Heading{"A & <b>", 1});
  for (const char* title : {"One", "Two", "Three"}) document.blocks.emplace_back(Heading{title});
  document.blocks.emplace_back(Paragraph{"5 < 6 \"quoted\" <script>alert(1)</script>"});
  document.blocks.emplace_back(Facts{{{"rule", "a <= b"}}});
  document.blocks.emplace_back(Listing{{"careful & slow"}, true});
  Table table(
      {{"n", "N"}, {"secret", "for programs", "", Align::right, Audience::programs}, {"x", "x", "<MiB>", Align::left}});
  table.add_row({std::int64_t{1234}, std::int64_t{99}, std::string("a&b")});
  table.mark_row(0);
  table.set_footer({std::int64_t{5}, std::int64_t{6}, std::string("sum")});
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Code{{"hybridkv plan 'a b' && x > y"}});
  const std::string svg =
      "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><path id='p'/><use href='#p'/></svg>\n";
  document.blocks.emplace_back(Picture{"plots/a.svg", "Picture \"A\"", "what & why", svg});
  document.blocks.emplace_back(Picture{"plots/b.svg", "B", "again", svg});
  document.blocks.emplace_back(Picture{"plots/c.svg", "C", "without gnuplot", ""});
  return document;
}

}  // namespace

TEST_CASE("law: a page is well-formed, escapes what it shows, and every id is there once") {
  const std::string html = render_html(sample_document());
  const pugi::xml_document document = parsed(html);
  check_ids(document);
  CHECK(document.select_nodes("//script").empty());
  CHECK(std::string(document.select_node("//title").node().child_value()) == "A & <b>");
  CHECK(document.select_nodes("//nav//a").size() == 3);
  CHECK(document.select_nodes("//figure//*[local-name()='svg']").size() == 2);
  CHECK(html.find("for programs") == std::string::npos);
  CHECK(html.find("<tr class=\"marked\"><td>1,234</td>") != std::string::npos);
  CHECK(html.find("C: not drawn.") != std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("golden: a fold is closed until it is opened, and left out on paper") {
  Document document;
  document.blocks.emplace_back(FoldBegin{"More & more"});
  document.blocks.emplace_back(Paragraph{"inside"});
  document.blocks.emplace_back(FoldEnd{});
  const std::string html = render_html(document);
  const pugi::xml_document page = parsed(html);
  const pugi::xml_node fold = page.select_node("//details").node();
  CHECK(std::string(fold.child("summary").child_value()) == "More & more");
  CHECK(std::string(fold.child("p").child_value()) == "inside");
  CHECK_FALSE(fold.attribute("open"));
  CHECK(html.find("nav, details { display: none; }") > html.find("@media print"));
  CHECK(render_markdown(document) == "<details>\n<summary>More & more</summary>\n\ninside\n\n</details>\n");
}

TEST_CASE("golden: a page has a dark side, no colour of its own beside it, and names for what is drawn") {
  const std::string html = render_html(sample_document());
  CHECK(html.find("@media (prefers-color-scheme: dark)") != std::string::npos);
  // Outside the two palettes every colour is one of them.
  const std::string style = html.substr(html.find("<style>"), html.find("</style>") - html.find("<style>"));
  std::size_t literal = 0;
  for (std::size_t at = style.find('#'); at != std::string::npos; at = style.find('#', at + 1))
    literal += style.rfind("--", at) == std::string::npos || at - style.rfind("--", at) > 12 ? 1 : 0;
  CHECK(literal == 1);  // the edge of a warning, seen on both
  const pugi::xml_document page = parsed(html);
  for (const auto& figure : page.select_nodes("//figure"))
    CHECK_FALSE(std::string(figure.node().attribute("aria-label").value()).empty());
}

TEST_CASE("edge: on a phone the contents have one column with their numbers inside, and no number of a table breaks") {
  const std::string html = render_html(sample_document());
  CHECK(html.find("nav ol { columns: 2 17em; padding: 0; }\nnav li { margin-left: 2.2em; }") != std::string::npos);
  CHECK(html.find("td { white-space: nowrap; }") != std::string::npos);
  CHECK(html.find("td.text { text-align: left; white-space: normal; }") != std::string::npos);
}

TEST_CASE("law: nothing on a page is fetched") {
  const pugi::xml_document document = parsed(render_html(sample_document()));
  CHECK(document.select_nodes("//@src | //@srcset | //iframe | //object | //img").empty());
}

TEST_CASE("edge: pictures and commands in text and Markdown") {
  const std::string markdown = render_markdown(sample_document());
  CHECK(markdown.find("![Picture \"A\"](plots/a.svg)\n\nwhat & why\n") != std::string::npos);
  CHECK(markdown.find("C: not drawn.") != std::string::npos);
  CHECK(markdown.find("```sh\nhybridkv plan 'a b' && x > y\n```\n") != std::string::npos);
  CHECK(render_text(sample_document()).find("Picture \"A\": plots/a.svg\n") != std::string::npos);
}

TEST_CASE("golden: the report on Qwen3.5-397B holds inputs, plans, derivations and commands") {
  ScenarioReportInputs inputs;
  inputs.planned.model = qwen35_397b();
  inputs.planned.engine.tensor_parallel = 2;
  inputs.planned.engine.cache_mode = CacheMode::align;
  inputs.planned.engine.memory_bytes = 40 * gib;
  inputs.planned.limits = {.max_model_lens = {32768}, .longest_prompt_tokens = 370};
  for (const std::vector<std::int64_t>& packs : {std::vector<std::int64_t>{4, 5}, std::vector<std::int64_t>{5}}) {
    inputs.planned.set = make_plans(inputs.planned.model, inputs.planned.engine, inputs.planned.limits, packs);
    inputs.findings = plan_answer(inputs.planned.set);
    inputs.why_not_verified = "Not verified here.";
    inputs.commands = {"hybridkv plan qwen3.5-397b"};
    const std::string html = render_html(scenario_report(inputs));
    check_ids(parsed(html));
    for (const char* text :
         {"2,211,840", "engine.max_num_batched_tokens", "prefix caching can never hit", "Not verified here.",
          "16 * ceil(2134016 / (16 * 5 * 1024))", "vLLM PR 35703", "hybridkv plan qwen3.5-397b"}) {
      CAPTURE(text);
      CHECK(html.find(text) != std::string::npos);
    }
  }
}

TEST_CASE("law: a verification in a report does not tell the time") {
  ScenarioReportInputs inputs;
  inputs.planned.model = two_layer_model();
  inputs.planned.engine.num_blocks = 100;
  inputs.planned.limits.max_model_lens = {256};
  inputs.planned.set =
      make_plans(inputs.planned.model, inputs.planned.engine, inputs.planned.limits, std::vector<std::int64_t>{1});
  inputs.findings = plan_answer(inputs.planned.set);
  VerifyReport run;
  run.checks = {{.name = "alignment", .status = CheckStatus::passed, .count = 3, .unit = "tensors"}};
  run.requests = default_requests(inputs.planned.set.plans[0]);
  run.seconds = 1;
  inputs.verified = {run};
  const std::string once = render_markdown(scenario_report(inputs));
  inputs.verified[0].seconds = 2;
  inputs.verified[0].peak_process_bytes = 5;
  CHECK(once == render_markdown(scenario_report(inputs)));
  CHECK(once.find("alignment") != std::string::npos);
  CHECK(once.find("Every element has its own address") != std::string::npos);
}
