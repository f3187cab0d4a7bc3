#include "ask/recommend_engines.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "ask/same_hits.h"

namespace hybridkv {

namespace {

double again(const EngineRecommendation& engine) {
  return static_cast<double>(engine.answer->picked().objectives.reprefilled_tokens);
}

}  // namespace

bool is_for_use(const EngineRecommendation& engine) {
  return engine.answer && !engine.answer->has_successor && !engine.answer->pick.serve.command.empty() &&
         engine.answer->pick_evidence == Evidence::run;
}

bool harms_kernel(const EngineRecommendation& engine) {
  return engine.answer && harms_kernel(engine.answer->pick_kernels());
}

std::optional<std::size_t> engine_to_take(std::span<const EngineRecommendation> engines) {
  std::vector<std::size_t> answered;
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (engines[i].answer) answered.push_back(i);
  const auto keep_if_any = [&](bool (*wanted)(const EngineRecommendation&)) {
    const auto is_wanted = [&](std::size_t i) { return wanted(engines[i]); };
    if (std::any_of(answered.begin(), answered.end(), is_wanted)) std::erase_if(answered, std::not_fn(is_wanted));
  };
  keep_if_any([](const EngineRecommendation& engine) { return !harms_kernel(engine); });
  keep_if_any(is_for_use);
  if (answered.empty()) return std::nullopt;
  const auto fewer_again = [&](std::size_t a, std::size_t b) { return again(engines[a]) < again(engines[b]); };
  const double fewest = again(engines[*std::min_element(answered.begin(), answered.end(), fewer_again)]);
  std::erase_if(answered, [&](std::size_t i) {
    return !finds_the_same(again(engines[i]), fewest,
                           static_cast<double>(engines[i].answer->result.workload.prompt_tokens));
  });
  return *std::max_element(answered.begin(), answered.end(), [&](std::size_t a, std::size_t b) {
    return engines[a].answer->picked().objectives.concurrency < engines[b].answer->picked().objectives.concurrency;
  });
}

std::optional<std::size_t> next_engine(std::span<const EngineRecommendation> engines, std::size_t taken) {
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (i != taken && is_for_use(engines[i]) && !harms_kernel(engines[i]) &&
        (!next || again(engines[i]) < again(engines[*next])))
      next = i;
  return next;
}

}  // namespace hybridkv
