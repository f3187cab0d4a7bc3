#pragma once

#include <string>
#include <vector>

#include "simulator/schedule/scheduler.h"

namespace hybridkv {

/// Everything that is wrong with the cache between two steps or between scheduling and completing one; empty = sound.
///
/// Checked in every arena: reference counts equal the holds in all block tables of its groups; the free queue is one
/// ring of exactly the blocks nobody holds, blocks without a key first; the index finds exactly the blocks that carry a
/// key, oldest first; the null block is neither held, queued nor published; no request holds a block twice, and two
/// requests share only published blocks; tables are as long as their tokens; every recurrent group holds the running
/// state and the same checkpoints; published keys are those of the request's content; the counters of held and findable
/// blocks agree. In vLLM 0.33 a block is found by a tail's key too, a window's only where it is kept, and a state that
/// was exported under another column's prefix. With large pages that arenas share every page is one arena's or
/// nobody's, no arena holds, queues or finds a block of another's page, and those without a held block are listed by
/// their age.
/// With a policy of whole prefixes every free block that can be found is needed by one that is kept or is to go first.
std::vector<std::string> find_violations(const Scheduler& scheduler);

/// Opens the insides of a pool, for find_violations and for tests that plant a fault.
struct ArenaPeek {
  static auto& blocks(auto& pool) { return pool.blocks_; }
  static auto& links(auto& pool) { return pool.queue_.links_; }
  static auto& queue(auto& pool) { return pool.queue_; }
  static auto& index(auto& pool) { return pool.index_; }
  static auto& nodes(auto& pool) { return pool.index_.nodes_; }
  static auto& buckets(auto& pool) { return pool.index_.buckets_; }
  static auto& tails(auto& pool) { return pool.tails_; }
  static auto& buckets_of(auto& index) { return index.buckets_; }
  static auto& held(auto& pool) { return pool.held_; }
  static auto& findable(auto& pool) { return pool.findable_; }
};

/// Opens a ledger of large pages.
struct LedgerPeek {
  static auto& idle(auto& ledger) { return ledger.idle_; }
  static auto& mixed(auto& ledger) { return ledger.mixed_; }
  static std::int64_t num_known(const PageLedger& ledger) { return std::ssize(ledger.pages_); }
  static std::int64_t age(const PageLedger& ledger, std::int64_t page) {
    return ledger.pages_[static_cast<std::size_t>(page)].age;
  }
  static void set_held(PageLedger& ledger, std::int64_t page, std::int64_t held) {
    ledger.pages_[static_cast<std::size_t>(page)].held = held;
  }
  static void set_pool(PageLedger& ledger, std::int64_t page, std::int64_t pool) {
    ledger.pages_[static_cast<std::size_t>(page)].pool = pool;
  }
};

/// Opens a scheduler and its cache, for the same purposes.
struct CachePeek {
  static auto& cache(auto& scheduler) { return scheduler.cache_; }
  static auto& waiting(auto& scheduler) { return scheduler.waiting_; }
  static auto& pool(auto& scheduler, std::size_t arena = 0) { return scheduler.cache_.parts_.pools[arena]; }
  static auto& copied(auto& scheduler) { return scheduler.cache_.parts_.copied; }
  static auto& attention(auto& scheduler) { return scheduler.cache_.parts_.attention; }
  static auto& states(auto& scheduler) { return scheduler.cache_.parts_.states; }
  static auto& ledger(auto& scheduler) { return *scheduler.cache_.parts_.ledger; }
};

}  // namespace hybridkv
