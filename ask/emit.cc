#include "ask/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/embedded_files.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "base/error.h"
#include "base/suggest.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

std::vector<KernelCard> cards_of_the_package() {
  std::vector<KernelCard> cards;
  for (const EmbeddedFile& file : embedded_cards())
    cards.push_back(parse_kernel_card(std::string(file.text), std::string(file.path)));
  return cards;
}

}  // namespace

std::vector<std::string> emitted_kinds() {
  std::vector<std::string> kinds;
  for (const Engine* engine : all_engines())
    if (engine->emit != nullptr) kinds.emplace_back(engine->rules->builder);
  return kinds;
}

std::vector<EmittedFile> emit(const std::string& kind, const Scenario& scenario, const std::string& made_by,
                              EmitParts parts) {
  const Engine* of_kind = nullptr;
  for (const Engine* engine : all_engines())
    if (engine->emit != nullptr && engine->rules->builder == kind) of_kind = engine;
  if (of_kind == nullptr)
    throw InputError(fmt::format("KIND {}: nothing of that kind is written; there is {}{}", kind,
                                 fmt::join(emitted_kinds(), ", "), did_you_mean(kind, emitted_kinds())));
  if (scenario.engine.rules != of_kind->rules)
    throw InputError(fmt::format("{} is of {}, and the plan is of {}; add --engine {}", kind, of_kind->rules->title,
                                 scenario.engine.rules->title, of_kind->rules->name));
  if (scenario.pack_sizes.size() > 1)
    throw InputError(fmt::format("one plan is emitted, and engine.attention_pack_size is {}; give one --pack",
                                 fmt::join(scenario.pack_sizes, ", ")));
  EngineSpec engine = scenario.engine;
  engine.attention_pack_size = scenario.pack_sizes.front();
  if (parts == EmitParts::module)
    return of_kind->emit({plan_pack(scenario, 0, PlanDetail::numbers), scenario.model, engine, made_by, parts, {}});
  const CachePlan plan = plan_pack(scenario, 0);
  return of_kind->emit({plan, scenario.model, engine, made_by, parts, kernel_fits(cards_of_the_package(), plan)});
}

}  // namespace hybridkv
