#include "report/compare_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "report/text.h"

using namespace hybridkv;
using Json = nlohmann::ordered_json;

namespace {

/// Three settings, of which the last is refused: blocks that differ by their grain, and groups that do not differ.
CompareAnswer sample_comparison() {
  CompareAnswer comparison;
  comparison.settings = {{"old", "a", {{"engine.release", "old"}}, "", {}},
                         {"new", "a", {{"engine.release", "new"}}, "", {"no view"}},
                         {"none", "a", {{"engine.release", ""}}, "a.yaml:1: it has no mode all", {}}};
  const ComparedValue nothing;
  using I = std::int64_t;
  ComparedRow block{"block_size_tokens", "block", "tokens", {I{2096}, I{2112}, nothing}, true, {}};
  block.rules.push_back({"B", "tokens", block.values, {"B = A * n", "B = A * n", ""}, {"rules", "rules", ""},
                         {{"A", "tokens", {I{16}, I{64}, nothing}}}});
  block.rules.push_back({"A", "tokens", {I{16}, I{64}, nothing}, {"A = 16", "A = lcm(16, k)", ""}, {"june", "0.33", ""},
                         {{"k", "tokens", {nothing, I{64}, nothing}}}});
  comparison.rows.push_back(block);
  comparison.rows.push_back({"groups", "groups", "", {I{4}, I{4}, nothing}, false, {}});
  comparison.rows.push_back({"ids_for_drafts", "- for states of drafts", "ids", {I{0}, I{0}, nothing}, false, {}});
  comparison.rows.push_back({"padding_percent", "padding", "%", {0.5758157, 1.34357, nothing}, true, {}});
  return comparison;
}

}  // namespace

TEST_CASE("rule: a comparison has the verdict of each kernel on each setting, and says what is passed over") {
  CompareAnswer comparison;
  for (const char* name : {"a", "b"}) comparison.settings.push_back({.name = name});
  comparison.settings[0].kernels = {{"attend 1", KernelVerdict::corrupts, {"the stride is 7"}}};
  comparison.settings[1].kernels = {{"attend 1", KernelVerdict::fits, {"it takes all"}}};
  const auto add = [&](const char* name, const std::vector<ComparedValue>& values, bool differs) {
    comparison.rows.push_back({name, name, "", values, differs, {}});
  };
  add("model", {std::string("m"), std::string("m")}, false);
  add("release", {std::string("r"), std::string("r")}, false);
  add("max_model_len", {std::int64_t{9}, std::int64_t{9}}, false);
  add("usable_concurrency", {20.0, 4.0}, true);
  const std::string text = render_compare(comparison, Format::markdown);
  CHECK(text.find("Best for the cache: b holds 4.0") != std::string::npos);
  CHECK(text.find("a is passed over: attend 1 would silently corrupt this layout.") != std::string::npos);
  CHECK(text.find("| **attend 1** | **corrupts** | **fits** |") != std::string::npos);
  CHECK(text.find("a: attend 1 would silently corrupt this layout: the stride is 7") != std::string::npos);
  const Json json = Json::parse(render_compare(comparison, Format::json));
  CHECK(json["best"] == "b");
  CHECK(json["settings"][0]["kernels"][0]["verdict"] == "corrupts");
  comparison.settings[1].kernels = comparison.settings[0].kernels;
  CHECK(render_compare(comparison, Format::markdown).find("None of them suits all kernels.") != std::string::npos);
  comparison.settings[0].kernels.clear();
  CHECK_FALSE(Json::parse(render_compare(comparison, Format::json))["settings"][0].contains("kernels"));
}

TEST_CASE("golden: a comparison begins with what uses the cache best") {
  CompareAnswer comparison;
  for (const char* name : {"a", "b", "c"}) comparison.settings.push_back({.name = name});
  const auto add = [&](const char* name, const std::vector<ComparedValue>& values, bool differs) {
    comparison.rows.push_back({name, name, "", values, differs, {}});
  };
  add("model", {std::string("m"), std::string("m"), std::string("m")}, false);
  add("release", {std::string("r"), std::string("r"), std::string("r")}, false);
  add("max_model_len", {std::int64_t{9}, std::int64_t{9}, std::int64_t{9}}, false);
  add("usable_concurrency", {20.0, 20.0, 4.0}, true);
  CHECK(render_compare(comparison, Format::markdown)
            .find("Best for the cache: a holds 20.0 requests of the longest length at once; b comes to the same; next "
                  "comes c with 4.0. No trace was replayed.") != std::string::npos);
  CHECK(Json::parse(render_compare(comparison, Format::json))["best"] == "a");
  add("prompt_tokens", {std::int64_t{1000}, std::int64_t{1000}, std::int64_t{1000}}, false);
  add("prefilled_tokens", {std::int64_t{104}, std::int64_t{500}, std::int64_t{100}}, true);
  add("hit_rate_percent", {89.6, 50.0, 90.0}, true);
  const std::string replayed =
      "Best for the cache: a finds 89.60 % of the prompt tokens again and holds 20.0 requests of the longest length at "
      "once; next comes c with 90.00 % and 4.0. Half a per cent of the tokens counts as the same.";
  CHECK(render_compare(comparison, Format::markdown).find(replayed) != std::string::npos);
}

TEST_CASE("golden: a comparison as people read it") {
  const std::string text = render_compare(sample_comparison(), Format::markdown);
  CHECK(text.find("| what | unit | old | new | none refused |\n"
                  "| :-- | :-- | --: | --: | --: |\n"
                  "| **block** | **tokens** | **2,096** | **2,112** |  |\n"
                  "| groups |  | 4 | 4 |  |\n"
                  "| **padding** | **%** | **0.58 %** | **1.34 %** |  |\n") != std::string::npos);
  CHECK(render_compare(sample_comparison(), Format::table).find(
        "! new is planned, but the engine refuses it at its start: no view\n"
        "! none is refused: a.yaml:1: it has no mode all\n"
        "\n"
        "What makes the marked rows differ\n"
        "block: 2,096 | 2,112 | - tokens\n"
        "  rule    B = A * n\n"
        "  with    A = 16 | 64 | - tokens\n"
        "  source  rules\n"
        "  where   A, in old: A = 16\n"
        "  source  june\n"
        "  where   A, in new: A = lcm(16, k)\n"
        "  source  0.33\n"
        "  with    k = - | 64 | - tokens\n"
        "\n"
        "padding: 0.58 % | 1.34 % | -\n") != std::string::npos);
}

TEST_CASE("edge: what differs is marked without colour, and coloured only where that is asked for") {
  const std::string plain = render_compare(sample_comparison(), Format::table, {.colour = false});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(plain.find("\n* block ") != std::string::npos);
  const std::string coloured = render_compare(sample_comparison(), Format::table, {.colour = true});
  CHECK(coloured.find("\x1b[32m* block ") != std::string::npos);
  CHECK(coloured.find("\x1b[32m* padding ") != std::string::npos);
  CHECK(coloured.find("\x1b[32m* groups") == std::string::npos);
  const std::string markdown = render_compare(sample_comparison(), Format::markdown);
  CHECK(markdown.find("| **block** | **tokens** | **2,096** | **2,112** |  |\n") != std::string::npos);
  CHECK(markdown.find("| groups |  | 4 | 4 |  |\n") != std::string::npos);
}

TEST_CASE("golden: the JSON of a comparison") {
  const Json json = Json::parse(render_compare(sample_comparison(), Format::json));
  CHECK(json["schema"] == "hybridkv-compare/1");
  CHECK(json["settings"][1] == Json::parse(R"({"name": "new", "scenario": "a", "overrides": {"engine.release": "new"},
                                               "refused": null, "start_errors": ["no view"]})"));
  CHECK(json["settings"][2]["refused"] == "a.yaml:1: it has no mode all");
  CHECK(json["settings"][2]["overrides"]["engine.release"] == nullptr);
  CHECK(json["rows"].size() == 4);
  CHECK(json["rows"][0] == Json::parse(R"json({"name": "block_size_tokens", "unit": "tokens",
    "values": [2096, 2112, null],
    "differs": true, "rules": [
      {"symbol": "B", "unit": "tokens", "values": [2096, 2112, null], "rules": ["B = A * n", "B = A * n", null],
       "sources": ["rules", "rules", null], "inputs": [{"symbol": "A", "unit": "tokens", "values": [16, 64, null]}]},
      {"symbol": "A", "unit": "tokens", "values": [16, 64, null], "rules": ["A = 16", "A = lcm(16, k)", null],
       "sources": ["june", "0.33", null],
       "inputs": [{"symbol": "k", "unit": "tokens", "values": [null, 64, null]}]}]})json"));
  CHECK(json["rows"][1] ==
        Json::parse(R"({"name": "groups", "unit": "", "values": [4, 4, null], "differs": false, "rules": []})"));
  CHECK(json["rows"][3]["values"][0] == 0.5758157);
}

TEST_CASE("regression: a length that nothing bounds is no number in JSON, of rows, rules and what they are made of") {
  CompareAnswer comparison = sample_comparison();
  const std::vector<ComparedValue> lengths{largest_tokens, largest_tokens - 1, {}};
  comparison.rows.front().values = comparison.rows.front().rules.front().values = lengths;
  comparison.rows.front().rules.front().inputs.front().values = lengths;
  comparison.rows[1].values = {largest_tokens, largest_tokens, {}};  // a number of groups, whatever it is
  const Json rows = Json::parse(render_compare(comparison, Format::json))["rows"];
  const Json said = Json::parse("[null, 1099511627775, null]");
  CHECK(rows[0]["values"] == said);
  CHECK(rows[0]["rules"][0]["values"] == said);
  CHECK(rows[0]["rules"][0]["inputs"][0]["values"] == said);
  CHECK(rows[1]["values"][0] == largest_tokens);
  CHECK(render_compare(comparison, Format::csv).find("block_size_tokens,tokens,,1099511627775,,") != std::string::npos);
}

TEST_CASE("golden: the CSV of a comparison has all rows and their rules") {
  const std::string csv = render_compare(sample_comparison(), Format::csv);
  CHECK(csv.starts_with("name,unit,old,new,none,differs,rules\n"
                        "block_size_tokens,tokens,2096,2112,,true,\"rule: B = A * n; with: A = 16 | 64 | - tokens; "));
  CHECK(csv.find("\nids_for_drafts,ids,0,0,,false,\n") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
}

TEST_CASE("golden: a part of a row names the row that it is of, also where that one does not differ") {
  using I = std::int64_t;
  CompareAnswer comparison = sample_comparison();
  comparison.settings.pop_back();
  comparison.rows = {{"bytes_per_request", "bytes of a request", "bytes", {I{10}, I{20}}, true, {}},
                     {"ideal_bytes_per_request", "- ideally", "bytes", {I{5}, I{6}}, true, {}},
                     {"usable_concurrency", "requests at once", "", {I{4}, I{4}}, false, {}},
                     {"ideal_concurrency", "- ideally", "", {I{7}, I{8}}, true, {}}};
  const std::string text = render_compare(comparison, Format::table);
  CAPTURE(text);
  CHECK(text.ends_with("What makes the marked rows differ\n"
                       "bytes of a request: 10 | 20 bytes\n"
                       "\n"
                       "bytes of a request, ideally: 5 | 6 bytes\n"
                       "\n"
                       "requests at once, ideally: 7 | 8\n"));
}

TEST_CASE("edge: settings that are equal are said to be") {
  CompareAnswer comparison = sample_comparison();
  comparison.settings.resize(1);
  comparison.rows.resize(2);
  for (ComparedRow& row : comparison.rows) row = {row.name, row.title, row.unit, {std::int64_t{4}}, false, {}};
  const std::string text = render_compare(comparison, Format::table);
  CHECK(text.ends_with("\n\nNothing differs.\n"));
  CHECK(text.find('*') == std::string::npos);
}

TEST_CASE("edge: a table of many settings is folded, sentences are wrapped") {
  CompareAnswer comparison = sample_comparison();
  for (ComparedSetting& setting : comparison.settings) setting.name = std::string(30, 'n') + setting.name;
  std::istringstream lines(render_compare(comparison, Format::table, {.width = 80}));
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(display_width(line) <= 80, line);
}
