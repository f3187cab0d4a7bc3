// What is said of engines side by side.
#include "report/recommend/recommend_engines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/ask/engine_recommendations.h"
#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("golden: the verdict names the engine, its numbers, the next one, and who refuses") {
  const std::vector<EngineRecommendation> engines{with_results(recommended("vllm-0.33"), 1000, 7.5),
                                                  with_results(recommended("sglang-0.5.23"), 9e8, 3),
                                                  recommended("jenga"),
                                                  {"tensorrt-llm", {}, "too little memory"}};
  const std::string text = render_text(recommend_engines(engines));
  CAPTURE(text);
  CHECK(text.starts_with("Engines for Qwen3.5-0.8B, tensor parallel 1\n\nTake vllm-0.33 with N = 1, mode align, "));
  CHECK(contains(text, "computed again, and 7.50 requests of"));
  CHECK(contains(text, "Next is sglang-0.5.23: "));
  CHECK(contains(text, "* vllm-0.33 "));
  CHECK(contains(text, "\n  jenga "));
  CHECK(contains(text, "Start it\n"));
  CHECK(contains(text, "vllm serve Qwen/Qwen3.5-0.8B "));
  CHECK(contains(text, "! tensorrt-llm: refused: too little memory"));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  const std::string others = render_text(recommend_engines(std::span(engines).subspan(2)));
  CHECK(contains(others, "Take jenga with"));
  CHECK(contains(others, "None of these engines"));
}

TEST_CASE("edge: what no flag says stands below the command, and where there is nothing no empty line does") {
  std::vector<EngineRecommendation> engines{recommended("vllm-0.33"), {"tensorrt-llm", {}, "too little memory"}};
  std::vector<std::string>& beside = engines.front().answer->pick.serve.beside;
  const auto from_command = [&] {
    const std::string text = render_text(recommend_engines(engines));
    const std::size_t begin = text.find("Start it\n");
    REQUIRE(begin != std::string::npos);
    return text.substr(begin);
  };
  beside = {"The file of the model is not known here."};
  CHECK(contains(from_command(), "\n\n- The file of the model is not known here.\n\n! tensorrt-llm: refused: "));
  beside.clear();
  CHECK(contains(from_command(), "\n\n! tensorrt-llm: refused: "));
  CHECK_FALSE(contains(from_command(), "\n\n\n"));
}
