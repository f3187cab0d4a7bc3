#include "report/replay/simulate_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate_bounds.h"
#include "report/json_text.h"
#include "report/replay/upper_bounds.h"
#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

using testing::contains;

SimulateAnswer answer_of(const TraceSpec& trace, const DriverSpec& driver, bool upper_bounds = false) {
  SimulateQuestion question{.request = {.trace = trace, .driver = driver, .upper_bounds = upper_bounds}};
  question.caches = {CacheGeometry{.name = "small", .block_size_tokens = 16, .num_blocks = 400, .state_groups = 1}};
  return simulate(question);
}

const TraceSpec copies{.prompts = {{.tokens = 40, .copies = 2}}};

}  // namespace

TEST_CASE("golden: a short trace is listed request by request, copies stand beside their closed form") {
  const std::string text = render_simulate(answer_of(copies, {}, true), Format::table);
  for (const char* heading : {"What becomes of the requests", "Exact copies of earlier prompts"})
    CHECK(contains(text, heading));
  CAPTURE(text);
  CHECK(contains(text, "small      16        0      40       0   0.0 %       2  32                   ok"));
  CHECK(contains(text, "small      16        1      40      32  80.0 %       1                       ok"));
  CHECK(contains(text, "small         1      40      32           32"));
  CHECK(contains(text, "small      32  40.00 %                      32  40.00 %              39  48.75 %"));
  CHECK(contains(text, "All of this follows rules that were checked against a real engine"));
  CHECK(!contains(text, "Over time"));
  CHECK(!contains(text, "Waiting"));
}

TEST_CASE("golden: a long trace is shown over time and by turn") {
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 1e-5, .per_decode_step = 1e-3}};
  const SimulateAnswer answer = answer_of({.max_requests = 300}, driver);
  const std::string text = render_simulate(answer, Format::markdown);
  for (const char* part :
       {"## Over time\n", "## By turn of the conversation\n", "\n| 2 | ", "## Waiting\n", "Modelled, not replayed"})
    CHECK(contains(text, part));
  CHECK(!contains(text, "Request by request"));
  SimulateAnswer longer = answer;
  longer.caches[0].blocks().turns.assign(13, {.requests = 2, .prompt_tokens = 100, .hit_tokens = 50});
  const std::string turns = render_simulate(longer, Format::markdown);
  CHECK(contains(turns, "\n| 9 | 2 | 100 | 50.00 % |\n| later | 6 | 300 | 50.00 % |\n"));
  // A single request of a later turn is no less shown.
  longer.caches[0].blocks().turns.assign(11, {.requests = 1, .prompt_tokens = 100, .hit_tokens = 50});
  CHECK(contains(render_simulate(longer, Format::markdown), "\n| later | 1 | 100 | 50.00 % |\n"));
}

TEST_CASE("golden: outputs that end at max_model_len are said, behind prompts that are too long") {
  SimulateAnswer answer = answer_of(copies, {});
  answer.caches[0].max_model_len = 64;
  answer.caches[0].blocks().cut_outputs = 2;
  CHECK(contains(render_simulate(answer, Format::markdown), "2 outputs end at max_model_len (64 tokens)"));
  answer.caches[0].blocks().too_long = 1;
  const std::string both = render_simulate(answer, Format::markdown);
  REQUIRE(contains(both, "2 outputs end at max_model_len"));
  CHECK(both.find("max_model_len") < both.find("2 outputs end"));
}

TEST_CASE("golden: JSON holds the counters, the series, the turns and the requests of a short trace") {
  const nlohmann::json json = nlohmann::json::parse(render_simulate(answer_of(copies, {}), Format::json));
  CHECK(json.at("schema") == simulate_schema_id);
  const nlohmann::json& cache = json.at("caches").at(0);
  CHECK(cache.at("hit_tokens") == 32);
  CHECK(cache.at("copies_closed_form_tokens") == 32);
  CHECK(cache.at("first_token_mean_seconds").is_null());
  CHECK(cache.at("per_request").at(1).at("hit_tokens") == 32);
  CHECK(cache.at("turns").at(0).at("requests") == 2);
  CHECK(cache.at("series").size() == 3);
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 1}};
  const nlohmann::json timed = nlohmann::json::parse(render_simulate(answer_of(copies, open), Format::json));
  CHECK(timed.at("caches").at(0).at("first_token_mean_seconds").get<double>() > 0);
}

TEST_CASE("law: found, possible, proven and token by token are shares of one whole, prompts that do not fit in it") {
  const ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {memory: 600 MiB, cache_mode: align}\nlimits: {max_model_len: [32768, 4096]}\n"
      "simulate: {upper_bounds: true, trace: {prompts: [{tokens: 3000, copies: 9}, {tokens: 31000, copies: 2}]}}\n",
      "asked.yaml");
  const Scenario scenario = read_scenario(file);
  SimulateAnswer answer = simulate({scenario.simulate, planned_caches(scenario)});
  add_bounds(answer, scenario);
  const nlohmann::json caches = nlohmann::json::parse(render_simulate(answer, Format::json)).at("caches");
  const nlohmann::json table = to_json(upper_bounds_table(answer));
  const std::int64_t wholes[] = {9 * 3000 + 2 * 31000, 9 * 3000};
  for (std::size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    const nlohmann::json& cache = caches.at(i);
    CHECK(cache.at("refused") == (i == 0 ? 2 : 0));
    CHECK(cache.at("taken_prompt_tokens") == wholes[i]);
    const auto whole = static_cast<double>(wholes[i]);
    const auto share = [&](const char* tokens) { return cache.at(tokens).get<double>() / whole; };
    const double rates[] = {share("hit_tokens"), share("feasible_tokens"), share("upper_tokens"),
                            share("token_exact_hit_tokens")};
    CHECK(std::is_sorted(std::begin(rates), std::end(rates)));
    CHECK(cache.at("hit_rate").get<double>() == doctest::Approx(rates[0]).epsilon(1e-5));
    const char* const names[] = {"hit_rate", "feasible_rate", "upper_rate", "token_exact_hit_rate"};
    for (std::size_t of = 0; of < 4; ++of)
      CHECK(table.at(i).at(names[of]).get<double>() == doctest::Approx(100 * rates[of]).epsilon(1e-3));
  }
  const std::string wide = render_simulate(answer, Format::table, {.width = 1000});
  CHECK(contains(wide, "they count in the rates, as prompts of which nothing is found"));
}

TEST_CASE("golden: an open loop that cannot keep up says so as text, in CSV and in JSON, and others say nothing") {
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 1}};
  const TraceSpec crowd{.prompts = {{.tokens = 3000, .variants = 12}}};
  const auto csv_ends = [](const SimulateAnswer& answer, const std::string& cell) {
    const std::string csv = render_simulate(answer, Format::csv);
    CAPTURE(csv);
    CHECK(csv.substr(0, csv.find('\n')).ends_with(",overloaded,why_no_hits"));
    const auto json = nlohmann::json::parse(render_simulate(answer, Format::json));
    const auto& why = json.at("caches").at(0).at("why_no_hits");
    CHECK(csv.ends_with("," + cell + (why.is_null() ? "," : ",\"" + why.get<std::string>() + "\"") + "\n"));
  };
  const auto flag_of = [](const SimulateAnswer& answer) {
    return nlohmann::json::parse(render_simulate(answer, Format::json)).at("caches").at(0).at("overloaded");
  };
  const SimulateAnswer late = answer_of(crowd, open);
  const std::string text = render_simulate(late, Format::table, {.width = 1000});
  CAPTURE(text);
  CHECK(contains(text, "overloaded: requests come faster than they are served, up to 10 wait where 2 run at most; "
                       "latencies say how long the trace is, not how fast the engine."));
  csv_ends(late, "true");
  CHECK(flag_of(late) == true);
  const SimulateAnswer on_time = answer_of(copies, open);
  CHECK(!contains(render_simulate(on_time, Format::table), "overloaded"));
  csv_ends(on_time, "false");
  CHECK(flag_of(on_time) == false);
  const SimulateAnswer closed = answer_of(crowd, {.kind = DriverKind::closed_loop, .in_flight = 12});
  csv_ends(closed, "");
  CHECK(flag_of(closed).is_null());
}

TEST_CASE("edge: nothing that simulate says is wider than 100 columns") {
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 1e-5, .per_decode_step = 1e-3}};
  SimulateAnswer answer = answer_of({.max_requests = 300}, open, true);
  for (ReplayedCache& cache : answer.caches) cache.name = "N = 15, L = 131,072";
  const std::string text = render_simulate(answer, Format::table, {.width = 100});
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = text.substr(start, end - start);
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}
