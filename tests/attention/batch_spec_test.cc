#include "attention/batch_spec.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "attention/named_batch.h"
#include "base/error.h"

namespace hybridkv {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST_CASE("golden: two prefills of 1024 tokens and 32 decodes at 1024") {
  const BatchSpec batch = parse_batch_spec("2q1k_32q1s1k");
  CHECK(batch.runs == std::vector<BatchRun>{{2, 1024, 1024}, {32, 1, 1024}});
  CHECK(batch.num_reqs() == 34);
  CHECK(batch.num_tokens() == 2080);
  CHECK(batch.query_lens().size() == 34);
  CHECK(batch.query_lens()[1] == 1024);
  CHECK(batch.query_lens()[2] == 1);
  CHECK(batch.seq_lens() == Numbers(34, 1024));
  CHECK(to_string(batch) == "2q1k_32q1s1k");
}

TEST_CASE("law: what is printed is read back as the same batch") {
  CHECK(rc::check("parse of print", [] {
    const auto number = [](std::int64_t limit) { return rc::gen::inRange<std::int64_t>(1, limit); };
    BatchSpec batch;
    const int runs = *rc::gen::inRange(1, 6);
    for (int i = 0; i < runs; ++i) {
      const std::int64_t unit = *rc::gen::element<std::int64_t>(1, 1024);
      batch.runs.push_back({*number(100), *number(5000) * unit, *number(5000) * unit});
    }
    RC_ASSERT(parse_batch_spec(to_string(batch)) == batch);
  }));
  CHECK(to_string(parse_batch_spec("01q1024s2048_1q3s3")) == "q1ks2k_q3");
  // Queries may be longer than their sequence, as tests of the edges need it.
  CHECK(parse_batch_spec("q34s1").runs.front() == BatchRun{1, 34, 1});
}

TEST_CASE("edge: a text that is no batch is refused with the place and what was expected") {
  const auto refused = [](std::string_view text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_batch_spec(text), doctest::Contains(message), InputError);
  };
  CHECK_THROWS_WITH_AS(parse_batch_spec("2q1k_32x1"),
                       "batch spec, column 8: expected a number of requests or 'q' and their query length\n"
                       "  2q1k_32x1\n"
                       "         ^",
                       InputError);
  refused("", "column 1: expected a number of requests or 'q'");
  refused("q", "column 2: expected a number of query tokens");
  refused("q-1", "column 2: expected a number of query tokens");
  refused("q1s", "column 4: expected a number of tokens of a sequence");
  refused("q1_", "column 4: expected a number of requests or 'q'");
  refused("q1 q2", "column 3: expected 'k', 's' and the sequence length, '_' before the next requests, or the end");
  refused("q1kk", "column 4: expected 's' and the sequence length, '_' before");
  refused("q1s2x", "column 5: expected 'k', '_' before the next requests, or the end");
  refused("q1s2k1", "column 6: expected '_' before the next requests, or the end");
  refused("q0", "column 2: 0 query tokens, at least 1 is needed");
  refused("q1s0k", "column 4: 0 tokens of a sequence");
  refused("0q1", "column 1: 0 requests");
  refused("q1\n", "column 3: expected 'k'");
}

TEST_CASE("edge: the limits hold for each number and for the batch, however long the digits are") {
  const auto refused = [](std::string_view text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_batch_spec(text), doctest::Contains(message), InputError);
  };
  refused("1048577q1", "column 1: too many requests, the limit is 1048576");
  refused("q99999999999999999999999999999", "column 2: too many query tokens, the limit is 1099511627776");
  refused("q1s1099511627776k", "column 4: 1099511627776k tokens of a sequence, the limit is 1099511627776");
  refused("1048576q1_q1", "column 11: 1048577 requests up to here, a batch has at most 1048576");
  refused("2q600000000000", "column 1: 1200000000000 query tokens up to here");
  CHECK(parse_batch_spec("1048576q1s1073741824k").seq_lens().back() == max_batch_tokens);
}

TEST_CASE("golden: the named batches of vLLM's backend tests") {
  const auto is = [](std::string_view name, const Numbers& seq_lens, const Numbers& query_lens) {
    CAPTURE(name);
    CHECK(named_batch(name).seq_lens() == seq_lens);
    CHECK(named_batch(name).query_lens() == query_lens);
  };
  is("small_decode", {32, 40}, {1, 1});
  is("small_prefill", {32, 40}, {8, 8});
  is("mixed_small", {32, 40, 48, 56}, {1, 1, 5, 5});
  is("medium_decode", {128, 256, 512, 1024, 128, 256, 512, 1024}, Numbers(8, 1));
  is("medium_prefill", {256, 512, 1024, 2048}, Numbers(4, 16));
  is("mixed_medium", {512, 1024, 2048, 512, 1024, 2048}, {1, 1, 1, 7, 7, 7});
  is("large_decode", Numbers(32, 2048), Numbers(32, 1));
  is("large_prefill", Numbers(8, 4096), Numbers(8, 32));
  is("mixed_large", {1024, 2048, 4096, 1024, 2048, 4096}, {1, 1, 1, 32, 32, 32});
  is("single_decode", {1024}, {1});
  is("single_prefill", {1024}, {64});
  CHECK(named_batches().size() == 11);
}

TEST_CASE("edge: large batches shrink eightfold on request, unknown names are refused with the known ones") {
  CHECK(named_batch("large_decode", BatchScale::large_reduced).seq_lens() == Numbers(32, 256));
  CHECK(named_batch("mixed_large", BatchScale::large_reduced).seq_lens() == Numbers{128, 256, 512, 128, 256, 512});
  CHECK(named_batch("mixed_large", BatchScale::large_reduced).query_lens() == Numbers{1, 1, 1, 32, 32, 32});
  CHECK(named_batch("mixed_medium", BatchScale::large_reduced) == named_batch("mixed_medium"));
  CHECK_THROWS_WITH_AS(named_batch("large"), doctest::Contains("unknown batch 'large'; there are small_decode, small_"),
                       InputError);
}

}  // namespace
}  // namespace hybridkv
