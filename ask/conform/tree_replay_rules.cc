#include "ask/conform/tree_replay_rules.h"

#include <algorithm>
#include <array>
#include <string>

namespace hybridkv {

namespace {

/// A figure of a replay and our rule of it.
struct TreeFigure {
  std::string_view figure;
  std::string_view rule;
  std::string_view no_buffer = "";  ///< where it is another without slots for states of the grid
};

constexpr std::array replay_rules{
    TreeFigure{"replay.dies",
               "a request dies where no slot is left for a copy of its state, and none can be evicted for it: states "
               "that requests found or gave are locked, those that they gave only without skip_decode_lock"},
    TreeFigure{"replay.hit_tokens",
               "a hit ends with the deepest state on the path of the first n - 1 tokens; a chunk leaves one at the "
               "branch, else at the last multiple of G from its start",
               "a hit ends with the deepest state on the path of the first n - 1 tokens; a chunk leaves one at its "
               "end"},
    TreeFigure{"replay.branch_tokens",
               "what KV alone matches, down to a multiple of lcm(max(chunk of the scan or 64, page), page), where that "
               "is behind the hit"},
    TreeFigure{"replay.chunks", "chunks of max_num_batched_tokens in whole pages, from the hit on"},
    TreeFigure{"replay.evicted_tokens",
               "whole leaves that nobody locks, least recently used first, until the pages of a chunk are free"},
    TreeFigure{"replay.evicted_states",
               "states that nobody locks, least recently used first, that of a leaf with its KV, until the running, "
               "tracking and donated slots of the request are free",
               "states that nobody locks, least recently used first, that of a leaf with its KV, until the running and "
               "donated slots of the request are free"},
    TreeFigure{"replay.tree_tokens",
               "the tree gets a chunk up to its state: at the branch, else at the last multiple of G from its start",
               "the tree gets every chunk to its end"},
    TreeFigure{"replay.tree_states",
               "a chunk of G tokens or more leaves one state: at the branch, else at the last multiple of G from its "
               "start",
               "a chunk leaves the state of its end"},
    TreeFigure{"replay.free_tokens", "a request that ends gives back all pages but those that the tree took"},
    TreeFigure{"replay.free_states", "a request that ends gives back all slots but those that the tree took"}};

}  // namespace

std::optional<Decision> tree_replay_rule(const CachePlan& plan, std::string_view figure) {
  const auto known = std::find_if(replay_rules.begin(), replay_rules.end(),
                                  [&](const TreeFigure& one) { return one.figure == figure; });
  if (known == replay_rules.end()) return std::nullopt;
  const TreePools& pools = *plan.tree_pools;
  const bool is_other = pools.strategy == TreeStrategy::no_buffer && !known->no_buffer.empty();
  return Decision{{std::string(figure), std::string(to_string(pools.strategy)), ""},
                  std::string(is_other ? known->no_buffer : known->rule),
                  {{"G", pools.checkpoint_tokens, "tokens"}, {"page", pools.page_tokens, "tokens"}},
                  cited(*plan.rules, RuleOf::dual_pool)};
}

}  // namespace hybridkv
