#include "report/plan/flag_effects_table.h"

#include <fmt/format.h>

#include <vector>

#include "report/field.h"

namespace hybridkv {

namespace {

struct EffectRow {
  std::string flag, sets, key, value;
  const PlanBrief* brief;

  template <class Value>
  Cell planned(Value value_of) const {
    return brief->refused.empty() ? value_of(*brief) : Cell();
  }
};

std::string effect_text(const FlagEffect& flag) {
  if (!flag.without.refused.empty()) return flag.key + " (needed)";
  return flag.value.empty() ? flag.key + " (its default)" : flag.key;
}

}  // namespace

Table flag_effects_table(const FlagEffects& effects) {
  std::vector<EffectRow> rows{{"", "the whole command", "", "", &effects.whole}};
  for (const FlagEffect& flag : effects.flags)
    rows.push_back({flag.typed, effect_text(flag), flag.key, flag.value, &flag.without});
  using Row = EffectRow;
  const auto planned = [](auto value_of) { return [value_of](const Row& row) { return row.planned(value_of); }; };
  return table_of<Row>(
      {{{"flag", "without", "", Align::left}, &Row::flag},
       {for_people("which sets", "", Align::left), &Row::sets},
       {for_programs("key"), &Row::key},
       {for_programs("value"), &Row::value},
       {{"block_size_tokens", "block", "tokens"},
        planned([](const PlanBrief& one) -> Cell { return one.block_tokens; })},
       {for_programs("max_model_len"),
        planned([](const PlanBrief& one) -> Cell { return Length{one.capacity.max_model_len}; })},
       {for_people("request"),
        planned([](const PlanBrief& one) -> Cell { return ByteCount{one.capacity.bytes_per_request}; })},
       {for_programs("bytes_per_request"),
        planned([](const PlanBrief& one) -> Cell { return one.capacity.bytes_per_request; })},
       {{"usable_concurrency", "at once", "usable"},
        planned([](const PlanBrief& one) -> Cell { return Real{one.capacity.usable_concurrency}; })},
       {{"kv_cache_tokens", "KV cache", "tokens"},
        planned([](const PlanBrief& one) -> Cell { return one.capacity.kv_cache_tokens; })},
       {for_programs("refused"), [](const Row& row) { return row.brief->refused; }}},
      rows);
}

}  // namespace hybridkv
