// What `simulate` says of a server whose slots keep sequences.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ask/replay/planned_caches.h"
#include "report/replay/simulate_report.h"
#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;
using testing::contains;

namespace {

SimulateAnswer answer_of(const char* prompts) {
  Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: llama.cpp, memory: 4 GiB}\nlimits: {max_model_len: 4096}\n"
      "simulate: {upper_bounds: true, losses: true, trace: {prompts: [" + std::string(prompts) + "]}}\n",
      "slots.yaml"));
  return simulate({scenario.simulate, planned_caches(scenario)});
}

}  // namespace

TEST_CASE("golden: slots in the forms of simulate: what is found, kept, lost and possible, and that it was run") {
  const SimulateAnswer answer = answer_of("{tokens: 1000, copies: 2}, {tokens: 5000}");
  const std::string text = render_simulate(answer, Format::table, {.width = 200});
  CAPTURE(text);
  for (const char* part : {"What is found again", "What the slots keep", "Where the tokens went", "Upper bounds",
                           "1 of 3 requests has a prompt of max_model_len (4,096 tokens) or more and is refused",
                           "llama.cpp was run, one request at a time", "996"})
    CHECK(contains(text, part));
  CHECK(!contains(text, "Modelled, not replayed"));
  CHECK(render_simulate(answer, Format::markdown).starts_with("# Replay of"));
  const nlohmann::json json = nlohmann::json::parse(render_simulate(answer, Format::json));
  CHECK(json.at("release") == "llama.cpp");
  const nlohmann::json& cache = json.at("caches").at(0);
  CHECK(cache.at("hit_tokens") == 996);  // from the checkpoint before the last four tokens
  CHECK(cache.at("taken_prompt_tokens") == 2000);
  CHECK(cache.at("token_exact_hit_tokens") == 999);
  CHECK(cache.at("losses").at("lost").at("no_state") == 3);
  CHECK(cache.at("per_request").at(1).at("slot") == cache.at("per_request").at(0).at("slot"));
  CHECK(cache.at("per_request").at(2).at("slot").is_null());
  CHECK(cache.at("per_request").at(2).at("status") == "too_long");
  const std::string csv = render_simulate(answer, Format::csv);
  CHECK(csv.starts_with("name,slots,cells,"));
}

TEST_CASE("golden: how much of prompts is saved on the host, of which slots, or that none is") {
  SimulateAnswer answer = answer_of("{tokens: 1000, copies: 2}");
  SlotSettings& settings = std::get<SlotStats>(answer.caches.front().index).settings;
  const auto saved = [&] {
    const std::string text = render_simulate(answer, Format::table, {.width = 1000});
    const std::size_t begin = text.find("\n  saved ");
    REQUIRE(begin != std::string::npos);
    return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  };
  // By default 8,192 MiB.
  CHECK(contains(saved(), " up to 8 GiB of prompts on the host, of a slot that takes another one, and of idle slots "
                          "when a request starts"));
  settings.saves_idle = false;
  CHECK(saved().ends_with(" up to 8 GiB of prompts on the host, of a slot that takes another one"));
  settings.saved_bytes = -1;  // no limit but the cells
  settings.cells = 4096;
  CHECK(contains(saved(), " up to 4,096 tokens of prompts on the host, "));
  settings.saved_bytes = 0;
  CHECK(saved().ends_with(" no prompts"));
}

TEST_CASE("edge: what a refusal has changed already is said where a request was refused, and only there") {
  SimulateAnswer answer = answer_of("{tokens: 1000, copies: 2}");
  const auto text = [&] { return render_simulate(answer, Format::table, {.width = 1000}); };
  CHECK_FALSE(contains(text(), "refused only once it has a slot"));
  std::get<SlotStats>(answer.caches.front().index).refused = 1;
  CHECK(contains(text(), "a request is refused only once it has a slot, which then counts as just used; "));
}
