#include "simulator/trace/prompt_list.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/chain_hash.h"
#include "simulator/trace/trace_spec.h"

using namespace hybridkv;

namespace {

std::vector<std::vector<PrefixKey>> keys_of(TraceSource& trace, std::int64_t unit) {
  std::vector<std::vector<PrefixKey>> all;
  for (TraceBatch batch; trace.next(batch);)
    for (const TraceRequest& request : batch.requests) {
      CHECK(request.index == std::ssize(all));
      prefix_keys(batch.prompt(request), unit, all.emplace_back());
      CHECK(std::ssize(all.back()) == request.input_length / unit);
    }
  return all;
}

std::size_t common(const std::vector<PrefixKey>& a, const std::vector<PrefixKey>& b) {
  std::size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length]) ++length;
  return length;
}

}  // namespace

TEST_CASE("edge: written-out prompts share the tokens they say, at every length") {
  PromptListTrace trace({{.tokens = 20, .copies = 2},
                         {.tokens = 15, .shared_tokens = 10},
                         {.tokens = 12, .shared_tokens = 12, .shared_with = 2},
                         {.tokens = 14, .shared_tokens = 5, .shared_with = 3},
                         {.tokens = 9}});
  const auto keys = keys_of(trace, 1);
  REQUIRE(keys.size() == 6);
  CHECK(keys[0] == keys[1]);
  CHECK(common(keys[0], keys[2]) == 10);
  CHECK(common(keys[2], keys[3]) == 12);
  CHECK(common(keys[0], keys[3]) == 10);
  CHECK(common(keys[0], keys[4]) == 5);
  CHECK(common(keys[0], keys[5]) == 0);
  CHECK(trace.progress().requests == 6);
  CHECK(trace.progress().fraction == 1);
}

TEST_CASE("edge: many copies come in batches, and only the first ones where that is asked") {
  for (const auto& [most, expected] : {std::pair{std::optional<std::int64_t>{}, 5000},
                                       std::pair{std::optional<std::int64_t>{3000}, 3000},
                                       std::pair{std::optional<std::int64_t>{9000}, 5000}}) {
    const auto trace = open_trace({.prompts = {{.tokens = 3, .copies = 4000}, {.tokens = 4, .copies = 1000}},
                                   .max_requests = most});
    CHECK(std::ssize(keys_of(*trace, 2)) == expected);
  }
}

TEST_CASE("edge: a batch has as many requests as a source gives at a time, and progress is their share of all") {
  PromptListTrace trace({{.tokens = 3, .copies = 4096}});
  CHECK(trace.progress().fraction == 0);
  TraceBatch batch;
  REQUIRE(trace.next(batch));
  CHECK(batch.requests.size() == batch_requests);
  CHECK(trace.progress().fraction == static_cast<double>(batch_requests) / 4096);
  // Nothing is left of a trace of nothing.
  CHECK(PromptListTrace({{.tokens = 3}}, 0).progress().fraction == 1);
}

TEST_CASE("law: variants share what they are told to and nothing else, each in its copies") {
  PromptListTrace trace({{.tokens = 10}, {.tokens = 12, .copies = 2, .shared_tokens = 4, .variants = 3},
                         {.tokens = 9, .variants = 2}});
  const auto keys = keys_of(trace, 1);
  REQUIRE(keys.size() == 1 + 2 * 3 + 2);
  for (std::size_t i = 1; i < 7; ++i) {
    CHECK(keys[i].size() == 12);
    CHECK(common(keys[0], keys[i]) == 4);
    for (std::size_t j = 1; j < i; ++j) CHECK(common(keys[i], keys[j]) == ((i - 1) / 2 == (j - 1) / 2 ? 12 : 4));
    CHECK(common(keys[7], keys[i]) == 0);
  }
  CHECK(common(keys[7], keys[8]) == 0);
}

TEST_CASE("law: variants are the same traffic as that many prompts of the list") {
  TraceSpec compact{.prompts = {{.tokens = 37}, {.tokens = 37, .shared_tokens = 21, .variants = 39}}};
  TraceSpec listed{.prompts = {{.tokens = 37}}};
  for (int i = 0; i < 39; ++i) listed.prompts.push_back({.tokens = 37, .shared_tokens = 21});
  const auto hits = [](const TraceSpec& spec) {
    Simulation simulation({.block_size_tokens = 4, .num_blocks = 30, .state_groups = 1});
    const auto source = open_trace(spec);
    for (TraceBatch batch; source->next(batch);) simulation.consume(batch);
    return simulation.finish();
  };
  CHECK(hits(compact).hit_tokens > 0);
  CHECK(hits(compact) == hits(listed));
  CHECK(describe(compact) == describe(listed));
}

TEST_CASE("edge: prompts that cannot be are refused with their number") {
  const auto refused = [](std::vector<PromptSpec> prompts, const char* path, const char* message) {
    try {
      PromptListTrace trace(std::move(prompts));
      FAIL("not refused");
    } catch (const SpecError& error) {
      CHECK(error.path() == path);
      CHECK(error.message() == message);
    }
  };
  refused({{.tokens = 0}}, "prompts[0].tokens", "must be 1 to 1073741824, is 0");
  refused({{.tokens = std::int64_t{1} << 31}}, "prompts[0].tokens", "must be 1 to 1073741824, is 2147483648");
  refused({{.tokens = 5}, {.tokens = 5, .copies = 0}}, "prompts[1].copies", "must be 1 to 1099511627776, is 0");
  refused({{.tokens = 5, .shared_tokens = 2}}, "prompts[0].shared_tokens",
          "prompt 1 can share tokens with an earlier one, not with prompt 1");
  refused({{.tokens = 5}, {.tokens = 5, .shared_tokens = 2, .shared_with = 2}}, "prompts[1].shared_with",
          "prompt 2 can share tokens with an earlier one, not with prompt 2");
  refused({{.tokens = 5}, {.tokens = 9, .shared_tokens = 6}}, "prompts[1].shared_tokens", "must be 0 to 5, is 6");
  refused({{.tokens = 5}, {.tokens = 5, .variants = 0}}, "prompts[1].variants", "must be 1 to 2147483648, is 0");
  refused({{.tokens = 5}, {.tokens = 5, .shared_tokens = 5, .variants = 3}}, "prompts[1].variants",
          "3 prompts cannot differ where all 5 tokens are shared; take copies");
  refused({{.tokens = 5, .copies = std::int64_t{1} << 40}, {.tokens = 6}}, "prompts[1].copies",
          "more than 1099511627776 requests");
}

TEST_CASE("edge: a trace says what it is") {
  CHECK(describe({.file = "/a/b/c.jsonl.gz"}) == "c.jsonl.gz");
  CHECK(describe({.prompts = {{.tokens = 1}}}) == "a prompt written out");
  CHECK(describe({.prompts = {{.tokens = 1}, {.tokens = 2}}}) == "2 prompts written out");
  CHECK(describe({.synthetic = {.seed = 7}}) ==
        "a made-up trace of chats, agent loops and questions over documents, seed 7");
  CHECK(describe({.synthetic = {.seed = 7, .chat_weight = 0}}) ==
        "a made-up trace of agent loops and questions over documents, seed 7");
  CHECK(traffic_text({.chat_weight = 0, .retrieval_weight = 0}) == "agent loops");
}
