#include "report/replay/trace_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace hybridkv;

TEST_CASE("golden: the JSON of a trace has every count under its name") {
  TraceAnswer answer{.trace = "small.jsonl", .bad_lines = 2, .uncovered_tokens = 3, .token_bytes = 4};
  TraceStatistics& all = answer.statistics;
  all.requests = 5, all.dependencies = 6, all.prompt_tokens = 100, all.output_tokens = 8;
  all.first_seconds = 1, all.last_seconds = 11;
  all.repeated_tokens = 50, all.repeated_id_tokens = 25, all.distinct_tokens = 12;
  all.going_on = 13, all.going_on_prompt_tokens = 14, all.taken_up_tokens = 15, all.sessions = 16;
  all.in_order = false;
  const nlohmann::json json = nlohmann::json::parse(render_trace(answer, Format::json));
  CHECK(json["schema"] == trace_schema_id);
  CHECK(json["trace"] == "small.jsonl");
  CHECK(json["form"].is_null());
  CHECK(json["bad_lines"] == 2);
  CHECK(json["uncovered_tokens"] == 3);
  CHECK(json["token_bytes"] == 4);
  CHECK(json["requests"] == 5);
  CHECK(json["dependencies"] == 6);
  CHECK(json["prompt_tokens"] == 100);
  CHECK(json["output_tokens"] == 8);
  CHECK(json["seconds"] == 10);
  CHECK(json["in_order"] == false);
  CHECK(json["repeated_tokens"] == 50);
  CHECK(json["repeated_rate"] == 0.5);
  CHECK(json["repeated_id_tokens"] == 25);
  CHECK(json["repeated_id_rate"] == 0.25);
  CHECK(json["distinct_tokens"] == 12);
  CHECK(json["going_on"] == 13);
  CHECK(json["going_on_prompt_tokens"] == 14);
  CHECK(json["taken_up_tokens"] == 15);
  CHECK(json["sessions"] == 16);
}

TEST_CASE("edge: that no prompt goes on from an earlier one is said in words, of a single one its share") {
  TraceAnswer answer{.trace = "small.jsonl"};
  TraceStatistics& all = answer.statistics;
  all.requests = 5, all.prompt_tokens = 100;
  const std::string none = render_trace(answer, Format::markdown);
  CAPTURE(none);
  CHECK(none.find("- go on: no prompt goes on from an earlier one\n") != std::string::npos);
  all.going_on = 1, all.going_on_prompt_tokens = 40, all.taken_up_tokens = 10;
  const std::string one = render_trace(answer, Format::markdown);
  CAPTURE(one);
  CHECK(one.find("- go on: 20.0 % of the prompts go on from an earlier one, with 40.0 % of the tokens; 10.0 % of all "
                 "tokens are what it had\n") != std::string::npos);
}
