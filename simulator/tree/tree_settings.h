#pragma once

#include <cstdint>

#include "planner/token_state_split.h"
#include "planner/tree_host.h"

namespace hybridkv {

/// All that the hits and evictions of a dual pool with a radix tree depend on (SGLang 0.5.23). Tokens and slots are
/// those of one rank.
///
/// Example: 210 state slots beside 1,477,030 token slots, page 1, chunks of 2048 tokens: Qwen3.5-397B on 40 GiB.
struct TreeSettings {
  std::int64_t token_slots = 0;           ///< without the dummy page, >= page
  std::int64_t state_slots = 0;           ///< K, without the dummy; 0: no layer is recurrent, a hit needs KV alone
  std::int64_t page = 1;                  ///< tokens; 1 with no_buffer
  std::int64_t chunk_tokens = 8192;       ///< `--chunked-prefill-size`, whole pages
  std::int64_t model_chunk = 64;          ///< c, tokens of a chunk of the model's scan
  std::int64_t track_interval = 256;      ///< `--mamba-track-interval`, tokens
  TreeStrategy strategy = TreeStrategy::extra_buffer;    ///< not automatic; of states, where there are any
  bool overlap = true;                    ///< overlap scheduling: one tracking slot more
  std::int64_t max_states_per_path = -1;  ///< `--mamba-max-states-per-path`, >= 1 or -1: no limit
  bool skip_decode_lock = false;          ///< SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK: a state that a request found is
                                          ///< locked, none that it gives the tree
  TreeHost host = {};                     ///< what is evicted stays findable there
  std::int64_t max_running = 4096;        ///< requests at once, where several are in flight
  bool decodes = false;                   ///< requests generate their output, else one token
  bool step_ahead = false;                ///< the step behind a request's last runs before its end is known, as overlap
                                          ///< has it (read); the engine's own replays end each step first
  bool numbers_pages = false;             ///< pages have numbers, for checks and real tensors
  bool operator==(const TreeSettings&) const = default;

  bool has_states() const { return state_slots != 0; }
  /// Is a state taken where KV alone matched? The engine leaves it out with a host tier.
  bool has_branches() const { return has_states() && !host.exists(); }
  bool has_tracking() const { return has_states() && strategy != TreeStrategy::no_buffer; }
  /// States of the tracking slots that a request holds all the time.
  std::int64_t tracking_slots() const {
    return has_tracking() ? (overlap && strategy == TreeStrategy::extra_buffer ? 2 : 1) : 0;
  }
  /// C, tokens: no two states of a path are nearer in a prefill.
  std::int64_t state_chunk() const { return model_chunk > page ? model_chunk : page; }
  /// G = lcm(C, page), tokens: states of a chunk are multiples of it from the chunk's start.
  std::int64_t checkpoint_grid() const;
  /// I = lcm(G, track interval), tokens: states of the decode are multiples of it.
  std::int64_t decode_grid() const;
  /// Tokens of which every hit is a multiple: a hit ends where a state lies, in whole pages. A grid starts with a
  /// chunk, and chunks with a hit or a chunk further on.
  std::int64_t hit_step() const;
  /// Throws SpecError, path "radix.FIELD".
  void check() const;
};

}  // namespace hybridkv
