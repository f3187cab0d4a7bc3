#include "verify/forward/forward_steps.h"

#include <algorithm>
#include <array>
#include <set>

#include "simulator/blocks/prefill_chunk.h"
#include "verify/forward/forward_geometry.h"
#include "verify/forward/forward_run.h"

namespace hybridkv {

namespace {

/// A request that decodes past its windows, whose blocks nobody else may find, so that they are the next to be taken
/// once they go back: a first chunk of one block, then chunks up to the next block boundary, then
/// token by token from two before the last window gives back.
class WindowRequest {
 public:
  explicit WindowRequest(CacheManager& cache)
      : cache_(cache),
        give_back_(first_give_back(cache.geometry())),
        prompt_{{}, std::min(cache.geometry().block_size_tokens, first_decode())},
        blocks_(cache.make_request()) {}

  /// Takes the blocks of the next chunk. `early`: gives back at once what only the token after the next no longer sees.
  /// False where the pool has too few.
  bool advance(bool early) {
    computed_ = end_;
    if (end_ == 0) {
      end_ = prompt_.tokens;
      const bool fits = cache_.admit(blocks_, prompt_, {}, end_, 0);
      seen_ = blocks_;
      return fits;
    }
    const std::int64_t block = cache_.geometry().block_size_tokens;
    end_ = computed_ >= first_decode() ? computed_ + 1 : std::min(first_decode(), (computed_ / block + 1) * block);
    const auto before = blocks_.attention;
    const bool fits = cache_.advance(blocks_, prompt_, computed_, end_ - computed_, 0);
    seen_ = blocks_;  // the tensors' side goes on with this table
    const std::int64_t free = num_free();
    if (early) cache_.give_back_passed(blocks_, computed_ + 1);
    given_early_ += num_free() - free;
    for (std::size_t group = 0; group < before.size(); ++group)
      for (std::size_t i = 0; i < before[group].size(); ++i)
        if (before[group][i] != blocks_.attention[group][i]) given_back_.insert({arena_of(group), before[group][i]});
    for (std::size_t group = 0; group < before.size(); ++group)
      for (std::size_t i = before[group].size(); i < blocks_.attention[group].size(); ++i)
        taken_again_ += gave_back(group, blocks_.attention[group][i]);
    return fits;
  }

  std::int64_t computed() const { return computed_; }
  std::int64_t end() const { return end_; }
  std::int64_t give_back() const { return give_back_; }
  bool is_decode() const { return computed_ >= first_decode(); }
  /// Tables as the tensors' side sees them.
  const RequestBlocks& blocks() const { return seen_; }
  /// Blocks that went back although the next token still saw them.
  std::int64_t given_early() const { return given_early_; }
  /// Given back and taken again by the request itself.
  std::int64_t taken_again() const { return taken_again_; }
  bool gave_back(std::size_t group, BlockId block) const { return given_back_.contains({arena_of(group), block}); }

 private:
  std::int64_t arena_of(std::size_t group) const {
    return cache_.geometry().attention_arena(static_cast<std::int64_t>(group));
  }
  std::int64_t num_free() const {
    std::int64_t free = 0;
    for (std::int64_t arena = 0; arena < cache_.geometry().num_arenas(); ++arena) free += cache_.pool(arena).num_free();
    return free;
  }
  std::int64_t first_decode() const { return std::max<std::int64_t>(1, give_back_ - 2); }

  CacheManager& cache_;
  std::int64_t give_back_;
  CachedPrompt prompt_;
  RequestBlocks blocks_, seen_;
  std::int64_t computed_ = 0, end_ = 0;
  std::int64_t given_early_ = 0, taken_again_ = 0;
  std::set<std::pair<std::int64_t, BlockId>> given_back_;  // arena, id
};

/// Arenas in which a prompt of one block fits beside the long request just when its token `at` is computed next;
/// `early`: if blocks went back one token early.
CacheGeometry window_arenas(CacheGeometry geometry, std::int64_t at, bool early) {
  size_arenas(geometry, [&, all = geometry](std::int64_t arena) {
    return 2 * most_block_ids(all, arena, at + 2 * all.block_size_tokens);
  });
  CacheManager cache(geometry);
  WindowRequest request(cache);
  do {
    cache.begin_step();
    expects(request.advance(early), "the pool has room for two such requests");
    cache.end_step();
  } while (request.computed() < at);
  const CachedPrompt prompt{{}, geometry.block_size_tokens};
  RequestBlocks blocks = cache.make_request();
  cache.begin_step();
  expects(cache.admit(blocks, prompt, {}, prompt.tokens, 0), "the pool has room for two such requests");
  size_arenas(geometry, [&](std::int64_t arena) { return cache.pool(arena).num_held(); });
  return geometry;
}

void run_window_in(CacheGeometry geometry, const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = geometry.block_size_tokens;
  CacheManager cache(geometry);
  ForwardEngine engine(setting.plan, setting.network, setting.views, setting.backends, setting.fault,
                       setting.layout_fault);
  WindowRequest request(cache);
  const CachedPrompt prompt{{}, block};
  const ContentRun long_run{1, request.give_back() + 4}, short_run{2, block};
  const std::vector<std::uint64_t> long_contents = contents_of(std::span(&long_run, 1), 0, 0);
  const std::vector<std::uint64_t> short_contents = contents_of(std::span(&short_run, 1), 0, 0);
  ++result.requests;
  while (request.end() < std::ssize(long_contents)) {
    cache.begin_step();
    if (!request.advance(setting.fault == ForwardFault::early_release))
      return expect_event(false, "the long request did not fit", result);
    RequestBlocks short_blocks = cache.make_request();
    const bool beside = request.is_decode() && cache.admit(short_blocks, prompt, {}, prompt.tokens, 0);
    engine.copy_pages(cache.copies());
    std::vector<ForwardChunk> chunks{{.contents = &long_contents, .blocks = &request.blocks(),
                                      .computed = request.computed(), .end = request.end(),
                                      .is_decode = request.is_decode()}};
    if (beside) chunks.push_back({.contents = &short_contents, .blocks = &short_blocks, .computed = 0, .end = block});
    const std::vector<std::vector<float>> rows = engine.run(chunks);
    compare_rows(setting, long_contents, request.computed(), rows[0], 0, result);
    if (beside) compare_rows(setting, short_contents, 0, rows[1], 1, result);
    cache.end_step();
    if (!beside) continue;
    ++result.requests;
    for (std::size_t group = 0; group < short_blocks.attention.size(); ++group) {
      const auto& table = short_blocks.attention[group];
      result.reused_blocks +=
          std::count_if(table.begin(), table.end(), [&](BlockId id) { return request.gave_back(group, id); });
    }
    cache.release(short_blocks);
  }
  add_work(engine.work(), result);
  result.planted += request.given_early();
  result.reused_blocks += request.taken_again();
}

}  // namespace

void run_drafts(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  const std::int64_t drafts = setting.plan.speculative_tokens;
  const std::int64_t length = 2 * block - 7;
  const std::vector<ContentRun> prompt{{1, length}};
  CacheManager cache(geometry);
  ForwardEngine engine(setting.plan, setting.network, setting.views, setting.backends, setting.fault,
                       setting.layout_fault);
  RequestBlocks blocks = cache.make_request();
  std::vector<PrefixKey> keys;
  prefix_keys(runs_of(prompt), geometry.match_unit(), keys, geometry.rules.lookahead_tokens);
  const CachedPrompt cached{keys, length, length};
  const std::vector<std::uint64_t> contents = contents_of(prompt, 0, 24);
  const auto run = [&](const std::vector<std::uint64_t>& tokens, std::int64_t from, std::int64_t to,
                       std::int64_t accepted, bool holds_drafts) {
    engine.copy_pages(cache.copies());
    const ForwardChunk chunk{.contents = &tokens, .blocks = &blocks, .computed = from, .end = to,
                             .is_decode = holds_drafts, .holds_drafts = holds_drafts, .accepted_tokens = accepted};
    std::vector<float> rows = std::move(engine.run(std::span(&chunk, 1)).front());
    cache.end_step();
    return rows;
  };

  const PrefixHit hit = cache.look_up(blocks, cached);
  std::int64_t done = 0;
  while (done < length) {
    cache.begin_step();
    const std::int64_t most = geometry.max_num_batched_tokens;
    const std::int64_t tokens =
        cache.steps().next_chunk({.start = done, .tokens = length, .prompt = length, .requests = 1}, most);
    expects(done == 0 ? cache.admit(blocks, cached, hit, tokens, 0) : cache.advance(blocks, cached, done, tokens, 0),
            "the pool has room for one request");
    compare_rows(setting, contents, done, run(contents, done, done + tokens, 1, false), 0, result);
    done += tokens;
  }
  constexpr std::array<std::int64_t, 8> kept_tokens{2, 1, 4, 1, 3, 2, 1, 4};
  std::int64_t accepted = 1, kept_before = 1;
  for (const std::int64_t wanted : kept_tokens) {
    const std::int64_t kept = std::min(wanted, 1 + drafts);
    if (geometry.state_groups > 0) result.planted += accepted - kept_before;
    cache.begin_step();
    const std::vector<std::vector<BlockId>> before = draft_blocks(blocks);
    expects(cache.advance(blocks, cached, done, 1 + drafts, 0), "the pool has room for one request");
    const std::vector<std::vector<BlockId>> after = draft_blocks(blocks);
    if (!before.empty() && before.front().front() != after.front().front()) {
      engine.move_accepted(before, after, accepted);
      accepted = 1;
    }
    std::vector<std::uint64_t> guess(contents.begin(), contents.begin() + done + kept);
    guess.resize(done + 1 + drafts, 77);  // rejected: not what the sequence goes on with
    const std::vector<float> rows = run(guess, done, done + 1 + drafts, accepted, true);
    compare_rows(setting, contents, done, std::span(rows).first(kept * setting.network.width), 0, result);
    result.rejected += 1 + drafts - kept;
    done += kept;
    kept_before = kept;
    accepted = setting.fault == ForwardFault::wrong_accepted ? std::min(kept + 1, 1 + drafts) : kept;
  }
  result.requests = 1;
  add_work(engine.work(), result);
  result.planted += engine.work().planted;
  expect_event(result.rejected > 0, "no draft token was rejected", result);
}

bool fits_window_pools(const CacheGeometry& geometry) {
  const std::int64_t at = first_give_back(geometry);
  for (const bool early : {true, false}) {
    const CacheGeometry sized = window_arenas(geometry, early ? at - 1 : at, early);
    CacheManager cache(sized);
    WindowRequest request(cache);
    while (request.end() < request.give_back() + 4) {
      cache.begin_step();
      if (!request.advance(false)) return false;
      cache.end_step();
    }
  }
  return true;
}

void run_window(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t at = first_give_back(geometry);
  // Planted, the fault has its block written over in the first of the two; a right engine must pass both.
  run_window_in(window_arenas(geometry, at - 1, true), setting, result);
  if (setting.fault == ForwardFault::early_release) return;
  run_window_in(window_arenas(geometry, at, false), setting, result);
  expect_event(result.reused_blocks > 0, "no block that a window gave back was taken again", result);
}

}  // namespace hybridkv
