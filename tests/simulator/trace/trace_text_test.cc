// What is written of a trace is read back as the same requests, whose prompts share what they shared.
#include "simulator/trace/trace_text.h"

#include <doctest/doctest.h>

#include <tuple>
#include <unordered_map>

#include "simulator/trace/synthetic_trace.h"
#include "tests/simulator/trace/read_trace.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t sixteen = 16;

struct WrittenTrace {
  std::vector<TraceRequest> requests;
  std::vector<std::vector<PrefixKey>> keys;  // of the whole sixteens of each prompt
  std::string lines;
};

std::vector<PrefixKey> whole_sixteens(const TraceBatch& batch, const TraceRequest& request) {
  std::vector<PrefixKey> keys;
  prefix_keys(batch.prompt(request), sixteen, keys);
  return keys;
}

WrittenTrace written_trace(const SyntheticTraceSpec& spec) {
  SyntheticTrace trace(spec);
  TraceText text;
  WrittenTrace written;
  for (TraceBatch batch; trace.next(batch);) {
    text.append(batch, written.lines);
    for (const TraceRequest& request : batch.requests) {
      written.requests.push_back(request);
      written.keys.push_back(whole_sixteens(batch, request));
    }
  }
  return written;
}

}  // namespace

TEST_CASE("law: a written trace is read back as it was, prompts shared up to the same multiple of 16") {
  SyntheticTraceSpec spec{.seed = 3, .num_requests = 3000};
  spec.max_prompt_tokens = 4001;  // some are cut, and end inside of an id
  const WrittenTrace written = written_trace(spec);
  const TemporaryFile file(written.lines);
  const TraceBatch read = read_all({.path = file.path()});
  REQUIRE(read.requests.size() == written.requests.size());
  std::unordered_map<PrefixKey, PrefixKey> forth, back;
  std::size_t shared = 0;
  for (std::size_t i = 0; i < read.requests.size(); ++i) {
    const TraceRequest &a = written.requests[i], &b = read.requests[i];
    CAPTURE(i);
    REQUIRE(a.arrival_seconds == b.arrival_seconds);
    REQUIRE(std::tuple(a.input_length, a.output_length, a.chat_id, a.parent_chat_id, a.turn) ==
            std::tuple(b.input_length, b.output_length, b.chat_id, b.parent_chat_id, b.turn));
    const std::vector<PrefixKey> keys = whole_sixteens(read, b);
    REQUIRE(keys.size() == written.keys[i].size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const bool is_new = forth.try_emplace(written.keys[i][k], keys[k]).second;
      if (!is_new) ++shared;
      REQUIRE(forth[written.keys[i][k]] == keys[k]);
      REQUIRE(back.try_emplace(keys[k], written.keys[i][k]).first->second == written.keys[i][k]);
    }
  }
  CHECK(shared > forth.size());  // what is shared is most of such traffic
}
