#include "report/replay/loss_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "report/replay/simulate_report.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

using testing::contains;

/// A prompt of 70 tokens, one that shares 40 with it, and a copy of the first: block 16, states at its last boundary.
SimulateAnswer losses_of(bool losses = true) {
  SimulateQuestion question{.request = {.trace = {.prompts = {{.tokens = 70},
                                                              {.tokens = 60, .shared_tokens = 40},
                                                              {.tokens = 70, .shared_tokens = 70}}},
                                        .losses = losses}};
  question.caches = {CacheGeometry{.name = "small", .block_size_tokens = 16, .num_blocks = 400, .state_groups = 1}};
  return simulate(question);
}

}  // namespace

TEST_CASE("golden: where the tokens went, in a table and a sentence, only where that was asked for") {
  // Token by token 40 and 69; found 0 and 64: the 40 lack a state (32) and share 8 of a block.
  const std::string text = render_simulate(losses_of(), Format::table);
  CAPTURE(text);
  CHECK(contains(text, "Where the tokens went"));
  CHECK(contains(text, "token by token, endless memory      109  54.50 %"));
  CHECK(contains(text, "- tail of a block or match unit      13   6.50 %"));
  CHECK(contains(text, "- no state was ever made there       32  16.00 %"));
  CHECK(contains(text, "found                                64  32.00 %"));
  CHECK(contains(text, "small: 22.5 % of the prompt tokens are computed again"));
  CHECK(contains(text, "most of it, 16.0 %, as: no state was ever made there"));
  CHECK(!contains(render_simulate(losses_of(false), Format::table), "Where the tokens went"));
}

TEST_CASE("golden: losses in JSON and CSV, by cause and over the parts of the trace") {
  const auto json = nlohmann::json::parse(render_simulate(losses_of(), Format::json));
  const auto& losses = json.at("caches").at(0).at("losses");
  CHECK(losses.at("token_exact_tokens") == 109);
  CHECK(losses.at("found_tokens") == 64);
  CHECK(losses.at("lost").size() == num_loss_causes);
  CHECK(losses.at("lost").at("no_state") == 32);
  CHECK(losses.at("lost").at("block_tail") == 13);
  CHECK(losses.at("parts").size() == 3);
  CHECK(losses.at("parts").at(1).at("prompt_tokens") == 60);
  CHECK(losses.at("parts").at(1).at("lost").at("no_state") == 32);
  const std::string csv = render_simulate(losses_of(), Format::csv);
  CHECK(contains(csv, ",modelled,overloaded,why_no_hits,token_exact_tokens,lost_block_tail,lost_last_token,"
                      "lost_no_state,"));
  CHECK(contains(csv, ",109,13,0,32,0,0,0,0,0,0\n"));
  CHECK(!contains(render_simulate(losses_of(false), Format::csv), "lost_"));
  CHECK(!nlohmann::json::parse(render_simulate(losses_of(false), Format::json)).at("caches").at(0).contains("losses"));
}

TEST_CASE("golden: over time only causes that cost something have a column") {
  const std::string table = render_csv(loss_series_table(*losses_of().caches.front().losses));
  CHECK(table ==
        "first_request,requests,token_exact,found,lost_block_tail,lost_no_state\n"
        "0,1,0,0,0,0\n1,1,66.66666666666667,0,13.333333333333334,53.333333333333336\n"
        "2,1,98.57142857142857,91.42857142857143,7.142857142857143,0\n");
}

TEST_CASE("edge: nothing lost is said so, and every cause has a title") {
  const ReuseLoss none{.token_exact_tokens = 4, .found_tokens = 4};
  CHECK(loss_sentence("N = 1", {.prompt_tokens = 9, .total = none, .series = {}}) ==
        "N = 1: everything that an earlier prompt began with is found");
  for (const auto& [cause, name] : loss_cause_names) CHECK(!loss_title(cause).empty());
}

TEST_CASE("edge: a cause that cost a single token has a column over time, one that cost none has not") {
  LossStats losses{.prompt_tokens = 100};
  losses.total.of(LossCause::no_state) = 1;
  const std::string table = render_csv(loss_series_table(losses));
  for (const auto& [cause, name] : loss_cause_names)
    CHECK(contains(table, "lost_" + std::string(name)) == (cause == LossCause::no_state));
}
