#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/blocks/cache_ref_033.h"

namespace hybridkv::testing {

/// The scheduler of vLLM 0.33 once more, step by step over the slow cache.
class EngineRef033 : public CacheRef033 {
 public:
  using CacheRef033::CacheRef033;

  std::deque<std::shared_ptr<Request>> waiting;
  std::vector<std::shared_ptr<Request>> running;
  std::function<void(const Request&)> on_end;

  void schedule() {
    made.clear();
    std::int64_t budget = g.max_num_batched_tokens;
    for (auto& r : running) r->scheduled = 0;
    const bool preempted = !serve_running(budget);
    if (!preempted) serve_waiting(budget);
    for (int group = 0; group < groups; ++group)
      for (const auto& [of, block] : pending)
        if (of == group) pool.give_back({block});
    pending.clear();
  }

  void update() {
    std::vector<std::shared_ptr<Request>> kept;
    for (auto& r : running) {
      r->computed = std::min<std::int64_t>(r->computed + r->scheduled, std::ssize(r->tokens));
      if (r->scheduled > 0) r->prefill_chunk = r->computed < std::ssize(r->tokens);
      r->scheduled = 0;
      bool finished = false;
      if (r->computed == std::ssize(r->tokens)) {
        r->tokens.push_back(~(1000000 * static_cast<std::uint64_t>(r->index + 1) + r->tokens.size()));
        ++r->generated;
        if (s > 0 && caching) cache_all(*r, r->computed, r->exported);
        finished = r->generated >= std::max<std::int64_t>(1, r->wanted);
      }
      if (finished)
        end(*r, "ok");
      else
        kept.push_back(r);
    }
    running = kept;
  }

 private:
  std::int64_t split(const Request& r, std::int64_t start, std::int64_t rows, std::int64_t junction) const {
    const std::int64_t tokens = std::ssize(r.tokens), e = std::max(r.n, tokens - 1);
    if (!align || start >= e) return rows;
    std::int64_t end = start + rows, last = pos(tokens, B);
    const bool exports = end >= e && exportable(start, end, pos(e, grain));
    if (exports) last = 0;
    if (end < e) {
      const std::int64_t limit = g.scheduler.long_prefill_threshold > 0
                                     ? std::min(g.max_num_batched_tokens, g.scheduler.long_prefill_threshold)
                                     : g.max_num_batched_tokens;
      const std::int64_t a = end / B * B;
      if (a > start || B <= limit) end = a;
    }
    std::vector<std::int64_t> stops = {last};
    if (start % B != 0 && !exports) stops.push_back((start / B + 1) * B);
    if (const std::int64_t tail = pos(r.n, h); fine && !exports && last < tail && tail < r.n) stops.push_back(tail);
    if (start < junction && junction < end)
      stops.push_back(g.rules.exact_junctions && fine && g.drafter_drops_block ? junction
                                                                             : start + (junction - start) / B * B);
    std::int64_t stop = end;
    for (const std::int64_t at : stops)
      if (start < at && at < end) stop = std::min(stop, at);
    return std::max<std::int64_t>(0, stop - start);
  }
  std::int64_t rows_of(const Request& r, std::int64_t start, std::int64_t budget) const {
    std::int64_t rows = std::ssize(r.tokens) - start;
    const std::int64_t threshold = g.scheduler.long_prefill_threshold;
    if (threshold > 0 && running.size() + waiting.size() > 1) rows = std::min(rows, threshold);
    return std::min(rows, budget);
  }
  bool serve_running(std::int64_t& budget) {
    bool preempted = false;
    scheduled_running = prefill_scheduled = false;
    for (std::size_t i = 0; i < running.size() && budget > 0; ++i) {
      const auto r = running[i];
      const std::int64_t rows = split(*r, r->computed, rows_of(*r, r->computed, budget), r->junction);
      if (rows == 0) continue;
      bool done = false;
      while (!(done = allocate(*r, r->computed, rows, nullptr))) {
        const auto victim = running.back();
        running.pop_back();
        // Alone, and no further than the last time: it will do so for ever.
        const std::pair now(std::ssize(r->tokens), r->computed), last(r->stuck_tokens, r->stuck_computed);
        const bool stuck = victim == r && i == 0 && now <= last;
        if (victim == r && i == 0) {
          r->stuck_tokens = std::max(r->stuck_tokens, std::ssize(r->tokens));
          r->stuck_computed = r->computed;
        }
        if (stuck) {
          end(*victim, "stalled");
          return !preempted;
        }
        preempt(*victim);
        waiting.push_front(victim);
        preempted = true;
        if (victim == r) break;
      }
      if (!done) break;
      r->scheduled = rows;
      r->prefill_chunks += r->preemptions == 0 && r->computed < r->n;
      budget -= rows;
      scheduled_running = true;
      prefill_scheduled = prefill_scheduled || r->prefill_chunk;
    }
    return !preempted;
  }
  void preempt(Request& r) {
    free_tables(r);
    r.computed = r.scheduled = 0;
    r.allocated = r.prefill_chunk = false;
    ++r.preemptions;
  }
  void serve_waiting(std::int64_t budget) {
    while (!waiting.empty() && budget > 0 && std::ssize(running) < g.scheduler.max_num_seqs) {
      const auto r = waiting.front();
      const Hit hit = look_up(*r);
      std::int64_t rows = std::ssize(r->tokens) - hit.tokens;
      const bool pad = s > 0 && rows == 1 && !prefill_scheduled && (hit.tokens > 0 || scheduled_running);
      bool admitted = false;
      if (pad && budget >= 1 + s) {
        rows = split(*r, hit.tokens, 1 + s, hit.junction) == 1 + s ? 1 + s : 1;
      } else if (pad) {
        rows = 0;
      } else {
        rows = split(*r, hit.tokens, rows_of(*r, hit.tokens, budget), hit.junction);
      }
      const std::int64_t junction = std::exchange(r->junction, hit.junction);
      admitted = rows > 0 && allocate(*r, hit.tokens, rows, &hit);
      if (!admitted) {
        r->junction = junction;
        if (!running.empty()) return;
        waiting.pop_front();
        end(*r, r->admitted ? "stalled" : "refused");
        continue;
      }
      if (!r->admitted) r->hit = hit.tokens;
      r->admitted = true;
      r->computed = hit.tokens;
      r->scheduled = rows;
      r->prefill_chunks += r->preemptions == 0;
      budget -= rows;
      running.push_back(r);
      waiting.pop_front();
    }
  }
  void free_tables(Request& r) {
    for (auto& table : r.tables) pool.give_back(std::vector<int>(table.rbegin(), table.rend()));
    r.tables.clear();
  }
  void end(Request& r, const std::string& status) {
    r.status = status;
    if (on_end) on_end(r);
    free_tables(r);
  }
  bool scheduled_running = false, prefill_scheduled = false;
};

}  // namespace hybridkv::testing
