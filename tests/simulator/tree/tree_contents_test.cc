// What a request finds in a tree is what its own prefix would have computed: pages and state slots are given contents,
// which are written, copied and read where an engine does it.
#include <doctest/doctest.h>

#include <algorithm>

#include "simulator/tree/tree_replay.h"
#include "tests/simulator/tree/tree_workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// What the engine may do wrong, to show that it is noticed.
enum class Fault { none, copies_no_state, leaves_a_token_unwritten, keeps_the_last_state };

/// Memory of an engine that computes nothing but remembers of what: KV of a token is its content, a state the hash of
/// all tokens before it.
class Contents {
 public:
  Contents(TreeReplay& replay, Fault fault)
      : replay_(replay),
        fault_(fault),
        page_(replay.settings().page),
        kv_(static_cast<std::size_t>((replay.settings().token_slots / page_ + 1) * page_)),
        states_(static_cast<std::size_t>(replay.settings().state_slots + 1)) {
    replay.on_forward = [this](const TreeForward& computed) { forward(computed); };
    replay.on_state_copy = [this](StateSlot from, StateSlot to) {
      if (fault_ != Fault::copies_no_state) states_[to] = states_[from];
      ++copies;
    };
  }

  void run(const TraceRequest& request, std::span<const TokenRun> prompt, std::vector<std::uint64_t> tokens) {
    tokens_ = std::move(tokens);
    hashes_ = {0};
    for (const std::uint64_t token : tokens_) hashes_.push_back(mix64(hashes_.back(), token));
    replay_.run(request, prompt);
  }

  std::int64_t wrong_kv = 0, wrong_states = 0, read_tokens = 0, resumed = 0, kept = 0, copies = 0;

 private:
  /// Place of a token in the KV, through the pages of the request's path and its own.
  std::uint64_t& kv(const PageRows& rows, std::int64_t token) {
    return kv_[static_cast<std::size_t>(rows.at(static_cast<std::size_t>(token / page_)) * page_ + token % page_)];
  }

  void forward(const TreeForward& computed) {
    const TreeRequest& request = replay_.request();
    PageRows rows = replay_.tree().rows_of(request.node);
    rows.insert(rows.end(), request.rows.begin(), request.rows.end());
    for (std::int64_t token = 0; token < computed.start; ++token, ++read_tokens)
      wrong_kv += kv(rows, token) != tokens_[token];
    const std::int64_t written = computed.end - (fault_ == Fault::leaves_a_token_unwritten ? 1 : 0);
    for (std::int64_t token = computed.start; token < written; ++token) kv(rows, token) = tokens_[token];
    if (!replay_.settings().has_states()) return;
    if (computed.start > 0) wrong_states += states_[request.active] != hashes_[computed.start], ++resumed;
    if (computed.kept_slot != 0) {
      CHECK(computed.kept_tokens > computed.start);
      CHECK(computed.kept_tokens <= computed.end);
      const bool last = fault_ == Fault::keeps_the_last_state;
      states_[computed.kept_slot] = hashes_[last ? computed.end : computed.kept_tokens];
      ++kept;
    }
    states_[request.active] = hashes_[computed.end];
  }

  TreeReplay& replay_;
  Fault fault_;
  std::int64_t page_;
  std::vector<std::uint64_t> kv_;      // (page, token), page 0 the dummy
  std::vector<std::uint64_t> states_;  // (slot), slot 0 the dummy
  std::vector<std::uint64_t> tokens_;  // of the request under way, its output behind the prompt
  std::vector<std::uint64_t> hashes_;  // (tokens before)
};

/// Sums over random workloads.
struct Sums {
  std::int64_t wrong_kv = 0, wrong_states = 0, read_tokens = 0, resumed = 0, kept = 0, copies = 0;
};

Sums run_workloads(std::uint64_t first_seed, std::uint64_t count, Fault fault) {
  Sums sums;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    Dice dice(seed);
    TreeSettings settings = random_tree_settings(dice);
    settings.numbers_pages = true;
    const TreeWorkload work(dice, 30);
    TreeReplay replay(settings);
    Contents contents(replay, fault);
    for (const TraceRequest& request : work.batch.requests)
      contents.run(request, work.batch.prompt(request), work.tokens(request.index));
    sums.wrong_kv += contents.wrong_kv;
    sums.wrong_states += contents.wrong_states;
    sums.read_tokens += contents.read_tokens;
    sums.resumed += contents.resumed;
    sums.kept += contents.kept;
    sums.copies += contents.copies;
  }
  return sums;
}

}  // namespace

TEST_CASE("law: KV and states that a request reads are those of its own prefix, in 500 random workloads") {
  const Sums sums = run_workloads(2000, 500, Fault::none);
  CHECK(sums.wrong_kv == 0);
  CHECK(sums.wrong_states == 0);
  CHECK(std::min({sums.read_tokens, sums.resumed, sums.kept, sums.copies}) > 5000);
}

TEST_CASE("fault: a state that was not copied, one taken too late, and a token without KV are read") {
  CHECK(run_workloads(2000, 50, Fault::copies_no_state).wrong_states > 0);
  CHECK(run_workloads(2000, 50, Fault::keeps_the_last_state).wrong_states > 0);
  const Sums unwritten = run_workloads(2000, 50, Fault::leaves_a_token_unwritten);
  CHECK(unwritten.wrong_kv > 0);
  CHECK(unwritten.wrong_states == 0);
}
