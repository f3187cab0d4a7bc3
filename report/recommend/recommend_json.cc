#include "report/recommend/recommend_json.h"

#include "report/json_text.h"
#include "report/plan/kernel_json.h"
#include "report/recommend/search_reporter.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

ordered_json objectives_json(const Objectives& objectives) {
  return {{"reprefilled_tokens", objectives.reprefilled_tokens},
          {"bytes_per_request", objectives.bytes_per_request},
          {"concurrency", objectives.concurrency}};
}

ordered_json asked_json(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  ordered_json json;
  json["schema"] = recommend_schema_id;
  json["model"] = report.model;
  json["release"] = report.engine.rules->name;
  json["tensor_parallel"] = report.engine.tensor_parallel;
  json["memory_bytes"] = report.engine.memory_bytes;
  json["at_length"] = result.at_length;
  json["max_model_len"] = result.max_model_len;
  json["min_concurrency"] = report.min_concurrency ? ordered_json(*report.min_concurrency) : ordered_json();
  json["workload"] = {{"what", report.workload},
                      {"driver", to_string(report.driver.kind)},
                      {"requests", result.workload.requests},
                      {"too_long_requests", result.workload.too_long_requests},
                      {"prompt_tokens", result.workload.prompt_tokens},
                      {"longest_prompt_tokens", result.workload.longest_prompt_tokens},
                      {"repeated_tokens", result.workload.repeated_tokens}};
  return json;
}

void add_picked_json(ordered_json& json, const Recommendation& result) {
  json["least_concurrency"] = result.least_concurrency;
  json["default"] = result.default_candidate ? ordered_json(*result.default_candidate) : ordered_json();
  json["default_refused"] = result.default_refused ? result.default_refused->what() : "";
  json["pick"] = result.pick;
}

ordered_json what_ifs_json(const Recommendation& result) {
  ordered_json list = ordered_json::array();
  for (const WhatIf& what_if : result.what_ifs) {
    ordered_json json{{"assumption", to_string(what_if.assumption)}, {"value", what_if.value}, {"pick", nullptr}};
    if (what_if.pick) {
      json["pick"] = *what_if.pick;
      json["same_pick"] = *what_if.pick == result.pick;
      json["objectives"] = objectives_json(what_if.objectives);
      json["objectives_of_stated_pick"] = objectives_json(what_if.stated_pick);
    }
    list.push_back(json);
  }
  return list;
}

ordered_json settings_json(const std::vector<EngineSetting>& chosen) {
  ordered_json settings = ordered_json::array();
  for (const EngineSetting& setting : chosen)
    settings.push_back({{"key", setting.key}, {"value", setting.value}, {"flag", setting.flag}});
  return settings;
}

ordered_json serve_json(const ServeCommand& serve) {
  ordered_json recipes = ordered_json::array();
  for (const ServeRecipe& recipe : serve.recipes)
    recipes.push_back({{"name", recipe.name}, {"commands", recipe.commands}, {"beside", recipe.beside}});
  return {{"command", serve.command}, {"beside", serve.beside}, {"recipes", std::move(recipes)}};
}

ordered_json bound_json(const std::optional<LayoutBound>& bound) {
  if (!bound) return {};
  return {{"prompt_tokens", bound->prompt_tokens},
          {"feasible_tokens", bound->feasible_tokens},
          {"feasible_rate", bound->rate(bound->feasible_tokens)},
          {"upper_tokens", bound->upper_tokens},
          {"upper_rate", bound->rate(bound->upper_tokens)}};
}

ordered_json builder_json(const BuilderOffer& offer) {
  const Candidate& picked = offer.picked();
  return {{"builder", offer.builder},
          {"packs", offer.packs},
          {"is_better", offer.is_better},
          {"evidence", to_string(offer.evidence)},
          {"attention_pack_size", offer.layout().pack()},
          {"cache_mode", to_string(offer.layout().mode())},
          {"block_size_tokens", block_tokens(offer.layout())},
          {"match_unit_tokens", offer.result.match_unit(picked)},
          {"retention_tokens", picked.retention_tokens ? ordered_json(*picked.retention_tokens) : ordered_json()},
          {"hit_rate", picked.hit_rate()},
          {"objectives", objectives_json(picked.objectives)}};
}

}  // namespace

std::string recommend_json(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const RecommendReasons reasons = recommend_reasons(report);
  ordered_json json = asked_json(report);
  json["search"] = reporter_of(result).search(result);
  add_picked_json(json, result);
  json["pick_without_packing"] = result.unpacked_pick ? ordered_json(*result.unpacked_pick) : ordered_json();
  if (!report.pick_kernels().empty()) {
    json["pick_without_kernels"] = result.heedless_pick ? ordered_json(*result.heedless_pick) : ordered_json();
    json["kernels"] = JsonWriter::encode(report.pick_kernels());
  }
  json["front"] = result.front;
  json["settings"] = settings_json(report.pick.settings);
  json["serve"] = serve_json(report.pick.serve);
  json["pick_bound"] = bound_json(report.pick_bound);
  if (report.unpacked_pick) {
    json["settings_without_packing"] = settings_json(report.unpacked_pick->settings);
    json["serve_without_packing"] = serve_json(report.unpacked_pick->serve);
  }
  if (report.builder) json["with_builder"] = builder_json(*report.builder);
  json["reasons"] = {{"never_hits", reasons.never_hits}, {"overload", reasons.overload}, {"gains", reasons.gains},
                     {"costs", reasons.costs},           {"choice", reasons.choice},     {"unpacked", reasons.unpacked},
                     {"packs", reasons.packs},           {"changes", reasons.changes}};
  json["what_ifs"] = what_ifs_json(result);
  json["commands"] = report.commands;
  if (result.unpacked_pick) json["commands_without_packing"] = report.unpacked_commands;
  json["candidates"] = to_json(candidates_table(report));
  return json_text(json);
}

}  // namespace hybridkv
