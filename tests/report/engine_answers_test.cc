#include "report/engine_answers.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace hybridkv;

TEST_CASE("golden: answers of engines one under the other, refusals in their place") {
  const std::vector<EngineAnswer> answers{{"one-1", "first\n", {}}, {"two-2", {}, "no such thing"}};
  CHECK(render_engine_answers(answers, Format::table) ==
        "Under one-1\n\nfirst\n\nUnder two-2\n\n! refused: no such thing\n\n");
  CHECK(render_engine_answers(answers, Format::markdown) ==
        "# Under one-1\n\nfirst\n\n# Under two-2\n\n- refused: no such thing\n\n");
}

TEST_CASE("golden: rows say whose they are, a heading stands where it changes") {
  const std::vector<EngineAnswer> answers{
      {"a", "x,y\n1,2\n3,4\n", {}}, {"b", {}, "refused"}, {"c", "x,y\n5,6\n", {}}, {"d", "z\n7\n", {}}};
  CHECK(render_engine_answers(answers, Format::csv) == "engine,x,y\na,1,2\na,3,4\nc,5,6\nengine,z\nd,7\n");
}

TEST_CASE("law: what programs read is the answer itself, or the whole refusal") {
  const std::vector<EngineAnswer> answers{{"a", "{\"x\": [1, 2]}\n", {}}, {"b", {}, "line\n\"quoted\""}};
  const auto json = nlohmann::json::parse(render_engine_answers(answers, Format::json));
  CHECK(json["schema"] == engine_answers_schema_id);
  REQUIRE(json["engines"].size() == 2);
  CHECK(json["engines"][0] == nlohmann::json::parse(R"({"release": "a", "answer": {"x": [1, 2]}})"));
  CHECK(json["engines"][1] == nlohmann::json({{"release", "b"}, {"refused", "line\n\"quoted\""}}));
}
