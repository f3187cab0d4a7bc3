#include "planner/split_decisions.h"

#include <fmt/format.h>

#include <span>

#include "base/checked.h"
#include "planner/indexers.h"
#include "planner/plan_facts.h"
#include "planner/tree_settings.h"

namespace hybridkv {

namespace {

/// Writes down why a split is what it is.
class SplitDecisions {
 public:
  SplitDecisions(const TreePools& pools, const SplitInputs& inputs, const ArrangeInputs& asked)
      : pools_(pools), split_(pools.split), inputs_(inputs), engine_(asked.engine),
        lengths_(asked.limits.max_model_lens), has_indexers_(has_indexers(asked.model)),
        log_(asked.log) {}

  void derive() const {
    add({"bytes of a slot", pools_.state_slot_bytes, "bytes"}, "M of all state layers together: one slot id for all",
        {});
    add({"bytes of a token", pools_.token_bytes, "bytes"},
        has_indexers_ ? "cell = a1 of all attention layers and their indexers together, drafts too"
                      : "cell = a1 of all attention layers together, drafts too",
        {});
    derive_holding();
    derive_state_slots();
    derive_beside();
    derive_tokens();
    derive_running();
    if (pools_.unified) derive_unified();
    for (const LengthAdvice& advice : pools_.advice) derive_advice(advice);
    for (const std::int64_t length : lengths_)
      add({fmt::format("requests by token slots at {} token{}", length, length == 1 ? "" : "s"),
           split_.token_slots / round_up(length, pools_.page_tokens), ""},
          "requests = floor(tokens / (page * ceil(L / page)))", {tokens(), page(), {"L", length, "tokens"}});
  }

 private:
  Term memory() const { return {"X", engine_.memory_bytes, "bytes"}; }
  Term slot() const { return {"M", pools_.state_slot_bytes, "bytes"}; }
  Term slots() const { return {"K", split_.state_slots, "slots"}; }
  Term held() const { return {"S", split_.state_slots_per_request, "slots"}; }
  Term cell() const { return {"cell", pools_.token_bytes, "bytes"}; }
  Term ratio() const { return {"R", inputs_.full_memory_ratio, ""}; }
  Term ranks() const { return {"DP", inputs_.attention_data_parallel, ""}; }
  Term drafts() const { return {"D", inputs_.draft_tokens, "tokens"}; }
  Term page() const { return {"page", pools_.page_tokens, "tokens"}; }
  Term tokens() const { return {"tokens", split_.token_slots, "tokens"}; }
  Term asked() const { return {"max_running_requests", *inputs_.max_running_requests, ""}; }
  bool has_draft_states() const { return inputs_.draft_tokens > 0 && !inputs_.replay; }

  void derive_holding() const {
    if (!inputs_.radix_cache)
      return add({"S", split_.state_slots_per_request, "slots"}, "1: the running state; nothing is kept for prefixes",
                 {});
    derive_strategy();
    std::string rule = "3: the running state, that of the tree's node, and one on its way to the tree";
    if (pools_.strategy == TreeStrategy::extra_buffer)
      rule += inputs_.state_slots_per_request > 4 || engine_.own[tree_key::overlap_schedule]
                  ? "; and two tracking slots"
                  : "; and a tracking slot";
    if (pools_.strategy == TreeStrategy::extra_buffer_lazy) rule += "; and a tracking slot";
    if (engine_.own[tree_key::skip_decode_lock] && pools_.strategy != TreeStrategy::no_buffer)
      rule += "; less one, which decoding does not lock";
    add({"S", split_.state_slots_per_request, "slots"}, std::move(rule),
        {{"strategy", std::string(to_string(pools_.strategy)), ""}});
  }

  void derive_strategy() const {
    const Term strategy{"strategy", std::string(to_string(pools_.strategy)), ""};
    if (engine_.own[tree_key::mamba_radix_cache_strategy] == TreeStrategy::automatic)
      return add(strategy,
                 "auto: extra_buffer where steps overlap or pages have several tokens, and the engine counts the model "
                 "among those that can; which it counts is not known in full, and this one is taken to be",
                 {}, RuleOf::split_source_only);
    take(strategy, "as set", "engine.mamba_radix_cache_strategy");
  }

  void derive_state_slots() const {
    const Term result{"K", split_.state_slots, "slots"};
    switch (split_.by) {
      case StateSlotCount::explicit_size:
        return add(result, "K = floor(max_mamba_cache_size / DP)",
                   {{"max_mamba_cache_size", *inputs_.max_mamba_cache_size, "slots"}, ranks()});
      case StateSlotCount::requests:
        return add(result, "K = floor(max_running_requests / DP): nothing is kept for prefixes", {asked(), ranks()});
      case StateSlotCount::ratio: break;
    }
    if (has_draft_states())
      return add(result, "K = floor((X * R / (1 + R) - M * (1 + D)) / (M * (1 + D / S)))",
                 {memory(), ratio(), slot(), drafts(), held()});
    if (!inputs_.replay) return add(result, "K = floor((X * R / (1 + R) - M) / M)", {memory(), ratio(), slot()});
    add(result,
        inputs_.replay->in_state_slots ? "K = floor((X * R / (1 + R) - M - row) / (M + row)): every slot has a row"
                                       : "K = floor((X * R / (1 + R) - rings - M) / M)",
        {memory(), ratio(), slot(),
         inputs_.replay->in_state_slots ? Term{"row", inputs_.replay->row_bytes, "bytes"}
                                        : Term{"rings", split_.ring_bytes, "bytes"}});
  }

  void derive_beside() const {
    const Term requests{"requests", split_.draft_requests, ""};
    if (split_.draft_requests > 0 && split_.by == StateSlotCount::requests)
      add({"requests with states of draft steps", split_.draft_requests, ""}, "requests = K + 1", {slots()});
    else if (split_.draft_requests > 0)
      add({"requests with states of draft steps", split_.draft_requests, ""},
          "requests = min(floor(max_running_requests / DP), floor(K / S)) + 1", {asked(), ranks(), slots(), held()});
    if (split_.draft_state_bytes > 0)
      add({"states of draft steps", split_.draft_state_bytes, "bytes"}, "bytes = M * requests * D, outside the slots",
          {slot(), requests, drafts()});
    if (!inputs_.replay) return;
    const Term row{"row", inputs_.replay->row_bytes, "bytes"}, result{"rings of ReplaySSM", split_.ring_bytes, "bytes"};
    if (inputs_.replay->in_state_slots)
      add(result, "bytes = row * (K + 1)", {row, slots()}, RuleOf::split_source_only);
    else
      add(result, "bytes = row * (floor(max_running_requests / DP) + 1)", {row, asked(), ranks()});
  }

  void derive_tokens() const {
    std::string rest = "X - (K + 1) * M";
    std::vector<Term> inputs{memory(), slots(), slot()};
    if (split_.draft_state_bytes > 0) {
      rest += " - states of draft steps";
      inputs.push_back({"states of draft steps", split_.draft_state_bytes, "bytes"});
    }
    if (split_.ring_bytes > 0) {
      rest += " - rings";
      inputs.push_back({"rings", split_.ring_bytes, "bytes"});
    }
    add({"memory of tokens", split_.token_memory_bytes, "bytes"},
        "memory of tokens = " + rest + ": a dummy slot beside K", std::move(inputs));
    std::vector<Term> of_tokens{{"memory of tokens", split_.token_memory_bytes, "bytes"}, cell(), page()};
    if (inputs_.max_total_tokens) of_tokens.push_back({"max_total_tokens", *inputs_.max_total_tokens, "tokens"});
    add({"token slots", split_.token_slots, "tokens"},
        inputs_.max_total_tokens
            ? "tokens = page * floor(min(floor(memory of tokens / cell), max_total_tokens) / page)"
            : "tokens = page * floor(memory of tokens / (cell * page))",
        std::move(of_tokens));
  }

  void derive_running() const {
    const Term result{"running requests of the engine", split_.max_running, ""};
    add({"requests by state slots", split_.state_slots / split_.state_slots_per_request, ""}, "requests = floor(K / S)",
        {slots(), held()});
    if (inputs_.max_running_requests)
      return add(result, "requests = min(floor(max_running_requests / DP), floor(tokens / 2), floor(K / S))",
                 {asked(), ranks(), tokens(), slots(), held()});
    add(result,
        "requests = min(max(2048, min(4096, int(tokens / context * 512))), floor(tokens / 2), floor(K / S))",
        {tokens(), {"context", inputs_.context_tokens, "tokens"}, slots(), held()});
  }

  void derive_unified() const {
    const UnifiedPool& pool = *pools_.unified;
    const Term all{"all", pool.total_bytes, "bytes"};
    add({"part of tokens in the elastic buffer", pool.token_part_bytes, "bytes"},
        "part = 4096 * floor(memory of tokens / 4096)",
        {{"memory of tokens", split_.token_memory_bytes, "bytes"}}, RuleOf::split_source_only);
    add({"elastic buffer", pool.total_bytes, "bytes"}, "all = part of tokens + K * M",
        {{"part of tokens", pool.token_part_bytes, "bytes"}, slots(), slot()}, RuleOf::split_source_only);
    add({"tokens that a state costs", pool.state_in_tokens, "tokens"}, "tokens = ceil(M / cell)", {slot(), cell()},
        RuleOf::split_source_only);
    const char* front = ": nothing begins before the end of the largest entry";
    add({"token slots without states", pool.largest_tokens, "tokens"},
        std::string("tokens = floor(all / cell) - ceil(max(M, page * cell) / cell)") + front,
        {all, cell(), slot(), page()}, RuleOf::split_source_only);
    add({"state slots without tokens", pool.largest_states, "slots"},
        std::string("slots = floor(all / M) - ceil(max(M, page * cell) / M)") + front, {all, slot(), page(), cell()},
        RuleOf::split_source_only);
  }

  void derive_advice(const LengthAdvice& advice) const {
    const std::string at = fmt::format(" at {} token{}", advice.tokens, advice.tokens == 1 ? "" : "s");
    const Term length{"L", advice.tokens, "tokens"};
    const Term best{"best ratio", advice.best_ratio, ""}, now{"now", advice.running_now, ""};
    const char* running = "requests = min(floor(K / S), floor(tokens / (page * ceil(L / page))))";
    take({"length of the advice", advice.tokens, "tokens"}, "as asked for", "limits.max_model_len");
    add({"balanced ratio" + at, advice.balanced_ratio, ""}, "r = S * M / (cell * L): both pools fill together",
        {held(), slot(), cell(), length}, RuleOf::arithmetic);
    add({"best ratio" + at, advice.best_ratio, ""},
        "the smallest multiple of a thousandth of the balanced ratio at which most requests run",
        {{"balanced ratio", advice.balanced_ratio, ""}}, RuleOf::arithmetic);
    add({"state slots at the best ratio" + at, advice.best_state_slots, "slots"}, "K by the best ratio", {best});
    add({"token slots at the best ratio" + at, advice.best_token_slots, "tokens"}, "tokens by the best ratio", {best});
    add({"requests now" + at, advice.running_now, ""}, running, {slots(), held(), tokens(), page(), length});
    add({"requests at the best ratio" + at, advice.running_best, ""}, running,
        {{"K", advice.best_state_slots, "slots"}, held(), {"tokens", advice.best_token_slots, "tokens"}, page(),
         length});
    add({"fewer requests" + at, 100.0 * static_cast<double>(advice.running_best - advice.running_now) /
                                    static_cast<double>(advice.running_best), "%"},
        "fewer = 100 * (best - now) / best", {{"best", advice.running_best, ""}, now}, RuleOf::arithmetic);
    add({"idle memory" + at, advice.idle_percent, "%"}, "idle = 100 * (X - beside - now * (S * M + L * cell)) / X",
        {memory(), {"beside", pools_.outside_bytes(), "bytes"}, now, held(), slot(), length, cell()},
        RuleOf::arithmetic);
  }

  void take(Term result, const char* rule, const char* key) const {
    log_.add([&] { return Decision{std::move(result), rule, {}, key}; });
  }
  void add(Term result, std::string rule, std::vector<Term> inputs, RuleOf by = RuleOf::dual_pool) const {
    log_.add([&] { return Decision{std::move(result), std::move(rule), std::move(inputs), log_.cite(by)}; });
  }

  const TreePools& pools_;
  const TokenStateSplit& split_;
  const SplitInputs& inputs_;
  const EngineSpec& engine_;
  std::span<const std::int64_t> lengths_;
  bool has_indexers_;
  const DerivationLog& log_;
};

}  // namespace

void derive_split(const TreePools& pools, const SplitInputs& inputs, const ArrangeInputs& asked) {
  SplitDecisions(pools, inputs, asked).derive();
}

void derive_printed(const Arrangement& arrangement, const DerivationLog& log) {
  const TokenStateSplit& split = arrangement.tree_pools->split;
  for (const char* name : {"conv", "ssm"}) {
    const std::int64_t bytes = state_slot_tensor_bytes(arrangement, name);
    if (bytes == 0) continue;
    log.add([&] {
      return Decision{{fmt::format("{} of all slots", name), printed_gigabytes(bytes), "GB"},
                      "of all state layers, K and the dummy slot, as the engine prints it: in GiB, to two digits",
                      {{"bytes", bytes, "bytes"}, {"K", split.state_slots, "slots"}}, log.cite(RuleOf::dual_pool)};
    });
  }
  if (split.draft_state_bytes > 0)
    log.add([&] {
      return Decision{{"states of draft steps in GB", printed_gigabytes(split.draft_state_bytes), "GB"},
                      "as the engine prints it: in GiB, to two digits",
                      {{"bytes", split.draft_state_bytes, "bytes"}}, log.cite(RuleOf::dual_pool)};
    });
}

}  // namespace hybridkv
