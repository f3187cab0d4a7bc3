#include "simulator/trace/synthetic_trace.h"

#include <doctest/doctest.h>

#include <map>

#include "base/error.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// All requests with their prompts, copied out of the batches.
std::vector<std::pair<TraceRequest, std::vector<TokenRun>>> generate(const SyntheticTraceSpec& spec) {
  SyntheticTrace trace(spec);
  std::vector<std::pair<TraceRequest, std::vector<TokenRun>>> all;
  for (TraceBatch batch; trace.next(batch);)
    for (const TraceRequest& request : batch.requests) {
      const auto prompt = batch.prompt(request);
      all.emplace_back(request, std::vector<TokenRun>(prompt.begin(), prompt.end()));
      all.back().first.first_run = 0;
    }
  return all;
}

double mean_of(Distribution distribution) {
  // One chat of one turn each: the prompt is a system prompt of one token and the user's message.
  SyntheticTraceSpec spec{.num_requests = 20000, .agent_weight = 0, .retrieval_weight = 0};
  spec.system_tokens = {Distribution::Kind::constant, 1};
  spec.chat_turns = {Distribution::Kind::constant, 1};
  spec.user_tokens = distribution;
  double sum = 0;
  for (const auto& [request, prompt] : generate(spec)) sum += static_cast<double>(request.input_length - 1);
  return sum / 20000;
}

}  // namespace

TEST_CASE("law: a generated trace is in order, complete and the same for the same seed") {
  SyntheticTraceSpec spec{.seed = 7, .num_requests = 5000};
  const auto all = generate(spec);
  REQUIRE(all.size() == 5000);
  CHECK(all == generate(spec));
  double before = 0;
  for (const auto& [request, prompt] : all) {
    REQUIRE(request.arrival_seconds >= before);
    REQUIRE(request.input_length == prompt.back().end_token);
    REQUIRE(request.input_length <= spec.max_prompt_tokens);
    REQUIRE(request.input_length >= 1);
    REQUIRE(request.output_length >= 1);
    before = request.arrival_seconds;
  }
  spec.seed = 8;
  CHECK(all != generate(spec));
}

TEST_CASE("law: a later turn repeats its parent's prompt and goes on") {
  const auto all = generate({.num_requests = 5000});
  std::int64_t later = 0;
  for (const auto& [request, prompt] : all) {
    if (request.parent_chat_id < 0) {
      REQUIRE(request.turn == 1);
      continue;
    }
    const auto& [parent, shorter] = all.at(static_cast<std::size_t>(request.parent_chat_id));
    REQUIRE(request.turn == parent.turn + 1);
    REQUIRE(request.input_length > parent.input_length + parent.output_length);
    REQUIRE(std::equal(shorter.begin(), shorter.end(), prompt.begin()));
    ++later;
  }
  CHECK(later > 2000);
}

TEST_CASE("law: distributions have the means they are given") {
  using enum Distribution::Kind;
  CHECK(mean_of({constant, 12}) == 12);
  CHECK(mean_of({uniform, 10, 20}) == doctest::Approx(15).epsilon(0.02));
  CHECK(mean_of({geometric, 40}) == doctest::Approx(40).epsilon(0.03));
  CHECK(mean_of({lognormal, 100, 0.5}) == doctest::Approx(100 * std::exp(0.125)).epsilon(0.03));
  CHECK(mean_of({constant, 500, 0, 1, 30}) == 30);
}

TEST_CASE("law: popular system prompts are shared more the more skewed they are") {
  const auto share_of_first = [](double skew) {
    SyntheticTraceSpec spec{.num_requests = 4000, .agent_weight = 0, .retrieval_weight = 0, .popularity_skew = skew};
    std::map<std::uint64_t, std::int64_t> uses;
    std::int64_t most = 0;
    for (const auto& [request, prompt] : generate(spec)) most = std::max(most, ++uses[prompt.front().chain]);
    CHECK(uses.size() <= 20);
    return static_cast<double>(most) / 4000;
  };
  CHECK(share_of_first(0) < 0.12);
  CHECK(share_of_first(1) > 0.2);
}

TEST_CASE("edge: prompts never grow beyond the limit, also in one turn") {
  SyntheticTraceSpec spec{.num_requests = 2000, .max_prompt_tokens = 50};
  for (const auto& [request, prompt] : generate(spec)) {
    REQUIRE(request.input_length <= 50);
    REQUIRE(prompt.back().end_token == request.input_length);
  }
}

TEST_CASE("edge: open sessions stay bounded however long the trace") {
  for (const std::int64_t requests : {20000, 200000}) {
    SyntheticTrace trace({.num_requests = requests});
    std::int64_t most = 0;
    for (TraceBatch batch; trace.next(batch);) most = std::max(most, trace.open_sessions());
    CHECK(most < 400);
    CHECK(trace.progress().fraction == 1);
  }
}

TEST_CASE("edge: progress is the share of the requests that came, and nothing is left of a trace of nothing") {
  SyntheticTrace one({.num_requests = 1});
  CHECK(one.progress().fraction == 0);
  TraceBatch batch;
  REQUIRE(one.next(batch));
  CHECK(one.progress().fraction == 1);
  CHECK(SyntheticTrace({.num_requests = 0}).progress().fraction == 1);
}

TEST_CASE("edge: unusable specs are refused with the field") {
  const auto field = [](const SyntheticTraceSpec& spec) -> std::string {
    try {
      SyntheticTrace trace(spec);
    } catch (const SpecError& error) {
      return error.path();
    }
    return "";
  };
  CHECK(field({}) == "");
  CHECK(field({.num_requests = -1}) == "trace.num_requests");
  CHECK(field({.sessions_per_second = 0}) == "trace.sessions_per_second");
  CHECK(field({.chat_weight = 0, .agent_weight = 0, .retrieval_weight = 0}) == "trace.chat_weight");
  // The others of the weights come to more than what is missing.
  CHECK(field({.chat_weight = -0.1}) == "trace.chat_weight");
  CHECK(field({.agent_weight = -0.1}) == "trace.agent_weight");
  CHECK(field({.retrieval_weight = -0.1}) == "trace.retrieval_weight");
  CHECK(field({.num_documents = 0}) == "trace.num_documents");
  CHECK(field({.popularity_skew = std::nan("")}) == "trace.popularity_skew");
  const std::pair<Distribution SyntheticTraceSpec::*, const char*> distributions[] = {
      {&SyntheticTraceSpec::system_tokens, "system_tokens"},
      {&SyntheticTraceSpec::agent_system_tokens, "agent_system_tokens"},
      {&SyntheticTraceSpec::chat_turns, "chat_turns"},
      {&SyntheticTraceSpec::user_tokens, "user_tokens"},
      {&SyntheticTraceSpec::answer_tokens, "answer_tokens"},
      {&SyntheticTraceSpec::agent_steps, "agent_steps"},
      {&SyntheticTraceSpec::tool_tokens, "tool_tokens"},
      {&SyntheticTraceSpec::action_tokens, "action_tokens"},
      {&SyntheticTraceSpec::documents_per_question, "documents_per_question"},
      {&SyntheticTraceSpec::document_tokens, "document_tokens"}};
  for (const auto& [member, name] : distributions) {
    SyntheticTraceSpec spec;
    spec.*member = {Distribution::Kind::uniform, 5, 3};
    CHECK(field(spec) == std::string("trace.") + name);
  }
  CHECK(field({.tool_tokens = {Distribution::Kind::constant, 5, 0, 7, 6}}) == "trace.tool_tokens");
  CHECK(field({.documents_per_question = {Distribution::Kind::constant, 1e9}}) == "trace.documents_per_question");
  CHECK(field({.documents_per_question = {Distribution::Kind::uniform, 1, 1e6}}) == "trace.documents_per_question");
  CHECK(field({.documents_per_question = {Distribution::Kind::lognormal, 1e6, 1}}) == "trace.documents_per_question");
  CHECK(field({.num_documents = 1'000'000'000'000}) == "trace.num_documents");
  CHECK(field({.num_system_prompts = 1'000'000'000'000}) == "trace.num_system_prompts");
  CHECK(field({.chat_pause_seconds = 1e300}) == "trace.chat_pause_seconds");
}

TEST_CASE("regression: weights and tails that come to no number are refused") {
  const auto refusal = [](const SyntheticTraceSpec& spec) -> std::string {
    try {
      SyntheticTrace trace(spec);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  };
  const Distribution nothing{Distribution::Kind::lognormal, 0, 1e308};
  CHECK(refusal({.num_requests = 10, .user_tokens = nothing}) ==
        "trace.user_tokens: the median of a lognormal must be above 0");
  CHECK(refusal({.num_requests = 10, .chat_weight = 1e308, .agent_weight = 1e308}) ==
        "trace.chat_weight: the sum of the weights is too large for a number");

  // The widest tail around the smallest median is all least and most.
  SyntheticTraceSpec spec{.num_requests = 200, .user_tokens = {Distribution::Kind::lognormal, 5e-324, 1e308, 2, 9}};
  spec.chat_turns = {Distribution::Kind::constant, 1};
  spec.agent_weight = spec.retrieval_weight = 0;
  spec.system_tokens = {Distribution::Kind::constant, 1};
  SyntheticTrace trace(spec);
  for (TraceBatch batch; trace.next(batch);)
    for (const TraceRequest& request : batch.requests)
      CHECK((request.input_length == 3 || request.input_length == 10));
}

TEST_CASE("regression: a tail of the documents is cut at the longest prompt before it is made") {
  // The median is 3, but every tenth question or so asks for more documents than any memory holds.
  SyntheticTraceSpec spec{.num_requests = 300, .chat_weight = 0, .agent_weight = 0, .max_prompt_tokens = 4096};
  spec.documents_per_question = {Distribution::Kind::lognormal, 3, 20};
  SyntheticTrace trace(spec);
  std::int64_t longest = 0;
  for (TraceBatch batch; trace.next(batch);)
    for (const TraceRequest& request : batch.requests) longest = std::max(longest, request.input_length);
  CHECK(longest == 4096);
}
