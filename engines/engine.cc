#include "engines/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

const Engine& engine_of(const EngineRules& rules) {
  const auto all = all_engines();
  const auto is_it = [&](const Engine* engine) { return engine->rules == &rules; };
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  expects(found != all.end(), "the rules of an engine");
  return **found;
}

const BlockRules& block_rules_of(const EngineRules& rules) {
  for (const Engine* const engine : all_engines())
    if (engine->rules == &rules && engine->blocks != nullptr) return *engine->blocks;
  return plain_block_rules;
}

const EngineAxis* axis_of(const Engine& engine, const SearchAxis& axis) {
  const auto found = std::find_if(engine.axes.begin(), engine.axes.end(),
                                  [&](const EngineAxis& one) { return one.axis == &axis; });
  return found == engine.axes.end() ? nullptr : &*found;
}

AnyCache replayed_cache(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine,
                        std::int64_t max_model_len) {
  const Engine& replayed = engine_of(*engine.rules);
  if (!replayed.replay)
    throw not_known_of(*replayed.rules, "how {} finds prefixes again", "hybridkv plan shows how it shares memory");
  AnyCache cache = replayed.replay(plan, model, engine);
  set_max_model_len(cache, max_model_len);
  return cache;
}

const Engine& engine_of_today() {
  for (const Engine* const engine : all_engines())
    if (engine->start != nullptr && engine->successor == nullptr) return *engine;
  return *all_engines().front();
}

std::vector<const LogTexts*> all_log_texts() {
  std::vector<const LogTexts*> logs;
  for (const Engine* const engine : all_engines())
    if (engine->log && std::find(logs.begin(), logs.end(), engine->log->texts) == logs.end())
      logs.push_back(engine->log->texts);
  return logs;
}

SpecError not_known_of(const EngineRules& rules, std::string_view what, std::string_view instead) {
  return {"engine.release", fmt::format("{} is not known here{}; {}", fmt::format(fmt::runtime(what), rules.title),
                                        rules.source_only ? ": its rules were read, not run" : "", instead)};
}

}  // namespace hybridkv
