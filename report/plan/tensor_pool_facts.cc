#include "report/plan/tensor_pool_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/plan_facts.h"
#include "report/human.h"
#include "report/plan/pool_groups_facts.h"

namespace hybridkv {

namespace {

std::string what_lies_in(const CachePlan& plan, const GroupPlan& group) {
  return group.tensor ? plan.tensors_of(group).front().name : "K and V";
}

std::string slots_of(const ArenaPlan& arena) {
  return human_count(arena.num_ids) + " " + arena.name;
}

std::string saved_text(const SequenceRows& rows) {
  if (rows.saved_bytes == 0) return "no prompts are saved";
  const std::string limit = rows.saved_bytes < 0 ? fmt::format("{} tokens", human_count(rows.cells))
                                                 : human_bytes(rows.saved_bytes);
  return fmt::format("prompts are saved in up to {} more{}", limit, rows.saves_idle ? ", those of idle slots too" : "");
}

std::pair<std::string, std::string> host_fact(const SequenceRows& rows) {
  if (rows.checkpoints == 0) return {"host", "no checkpoints; " + saved_text(rows)};
  return {"host", fmt::format("up to {} of {} each for {}: {} of host memory; from the last on older ones nearer than "
                              "{} tokens to each other are dropped; {}",
                              human_plural(rows.checkpoints, "checkpoint"), exact_bytes(rows.checkpoint_bytes),
                              human_plural(rows.sequences, "sequence"), human_bytes(rows.host_bytes()),
                              human_count(rows.checkpoint_step_tokens), saved_text(rows))};
}

std::string context_text(const SequenceRows& rows) {
  return rows.unified ? fmt::format("{} share {} cells", human_plural(rows.sequences, "slot"), human_count(rows.cells))
                      : fmt::format("{} of {} cells each", human_plural(rows.sequences, "slot"),
                                    human_count(rows.slot_cells));
}

}  // namespace

std::string read_strategy_text(const CachePlan& plan) {
  if (plan.rows)
    return "sequence_rows: cells of one token for all sequences, rows of states for each, a tensor of conv and one of "
           "ssm a layer";
  return "pool_groups: blocks of tokens with all attention layers side by side, states of all recurrent layers, a pool "
         "for each of their tensors";
}

std::vector<std::pair<std::string, std::string>> tensor_pool_facts(const CachePlan& plan) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) {
    const ArenaPlan& arena = plan.arenas[i];
    std::string text = fmt::format("{}, {} each:", slots_of(arena), exact_bytes(arena.bytes_per_id));
    const char* before = " ";
    for (const GroupPlan& group : plan.groups) {
      if (group.arena.index() != i) continue;
      text += fmt::format("{}{} of {}, {} a layer", before, what_lies_in(plan, group),
                          human_plural(static_cast<std::int64_t>(group.pages.size()), "layer"),
                          exact_bytes(plan.page_bytes(group)));
      before = "; ";
    }
    facts.emplace_back(arena.name, text + fmt::format("; together {}",
                                                      human_bytes(Checked(arena.num_ids) * arena.bytes_per_id)));
  }
  if (plan.rows)
    facts.emplace_back("context", fmt::format("{}; steps of {} tokens, {} at once through the layers",
                                              context_text(*plan.rows), human_count(plan.rows->batch_tokens),
                                              human_count(plan.rows->step_tokens)));
  facts.push_back(plan.rows ? host_fact(*plan.rows) : split_fact(*plan.pool_groups));
  if (plan.pool_groups && plan.pool_groups->host.exists()) facts.push_back(group_host_fact(plan.pool_groups->host));
  return facts;
}

std::vector<std::pair<std::string, std::string>> tensor_pool_capacity_facts(const CachePlan& plan,
                                                                            const CapacityPlan& capacity) {
  const std::vector<std::optional<std::int64_t>> requests = requests_by_arena(plan, capacity.max_model_len);
  std::string text = fmt::format("{} such requests at once:", human_real(capacity.usable_concurrency));
  const char* before = " ";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i]) continue;
    text += fmt::format("{}{} allow {}", before, plan.arenas[i].name, human_count(*requests[i]));
    before = ", ";
  }
  return {{"capacity", fmt::format("{}; {} KV cache tokens", text, human_count(capacity.kv_cache_tokens))}};
}

std::string read_caching_text(const CachePlan& plan) {
  const std::string mode = fmt::format("mode {}: ", to_string(plan.cache_mode));
  if (plan.rows)
    return mode + (plan.rows->checkpoints == 0
                       ? "no prefix is found again"
                       : fmt::format("a slot goes on from a checkpoint on the host, the last one {} tokens before the "
                                     "end of its prompt", checkpoint_tail_tokens));
  const PoolGroups& groups = *plan.pool_groups;
  if (!groups.points.any())
    return mode + (plan.cache_mode == CacheMode::none ? "no prefix is found again"
                                                      : "no snapshot is ever taken, so no prefix is found again");
  return fmt::format("{}a snapshot of each prompt {}", mode, snapshots_text(groups.points));
}

}  // namespace hybridkv
