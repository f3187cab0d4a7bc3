#include "simulator/tree/tree_settings.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "planner/tree_split.h"

namespace hybridkv {

std::int64_t TreeSettings::checkpoint_grid() const { return tree_checkpoint_grid(model_chunk, page); }

std::int64_t TreeSettings::decode_grid() const { return tree_decode_grid(checkpoint_grid(), track_interval); }

std::int64_t TreeSettings::hit_step() const {
  return has_tracking() ? std::gcd(checkpoint_grid(), chunk_tokens) : page;
}

void TreeSettings::check() const {
  const auto require = [](bool holds, const char* field, const std::string& message) {
    if (!holds) throw SpecError(fmt::format("radix.{}", field), message);
  };
  constexpr std::int64_t most_states = std::int64_t{1} << 31;
  require(page >= 1, "page", fmt::format("must be at least 1, is {}", page));
  require(strategy != TreeStrategy::automatic, "strategy",
          "must be chosen: no_buffer, extra_buffer or extra_buffer_lazy");
  require(!has_tracking() || strategy != TreeStrategy::extra_buffer_lazy || overlap, "strategy",
          "extra_buffer_lazy needs overlap scheduling; take extra_buffer");
  require(page == 1 || !has_states() || strategy != TreeStrategy::no_buffer, "page",
          fmt::format("no_buffer keeps states at any token and needs page 1, not {}; take extra_buffer", page));
  require(token_slots >= page, "token_slots",
          fmt::format("must hold a page of {} tokens at least, is {}", page, token_slots));
  require(state_slots >= 0, "state_slots",
          fmt::format("must be at least 1, or 0 where no layer is recurrent, is {}", state_slots));
  require(state_slots < most_states, "state_slots", fmt::format("must be below 2^31, is {}", state_slots));
  require(!numbers_pages || token_slots / page < most_states, "token_slots",
          fmt::format("must make less than 2^31 pages of {} tokens, is {}", page, token_slots));
  require(chunk_tokens >= page && chunk_tokens % page == 0, "chunk_tokens",
          fmt::format("must be whole pages of {} tokens, is {}", page, chunk_tokens));
  require(model_chunk >= 1, "model_chunk", fmt::format("must be at least 1, is {}", model_chunk));
  require(track_interval >= 1 && track_interval % page == 0, "track_interval",
          fmt::format("must be whole pages of {} tokens, is {}", page, track_interval));
  require(max_states_per_path >= 1 || max_states_per_path == -1, "max_states_per_path",
          fmt::format("must be at least 1, or -1 for no limit, is {}", max_states_per_path));
  require(max_running >= 1, "max_running", fmt::format("must be at least 1, is {}", max_running));
  require(host.tokens >= 0 && host.tokens % page == 0, "host.tokens",
          fmt::format("must be whole pages of {} tokens, is {}", page, host.tokens));
  require(host.exists() && has_states() ? host.states >= 1 : host.states == 0, "host.states",
          fmt::format("must be at least 1 where states have a host tier, else 0, is {}", host.states));
  decode_grid();  // fits 64 bits
}

}  // namespace hybridkv
