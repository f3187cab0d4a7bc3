#include "report/recommend_json.h"

#include "report/json_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

ordered_json objectives_json(const Objectives& objectives) {
  return {{"reprefilled_tokens", objectives.reprefilled_tokens},
          {"bytes_per_request", objectives.bytes_per_request},
          {"concurrency", objectives.concurrency}};
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

ordered_json search_json(const Recommendation& result) {
  ordered_json impossible = ordered_json::array();
  for (const ImpossibleLayout& one : result.impossible)
    impossible.push_back({{"attention_pack_size", one.pack},
                          {"user_block_size", one.block_floor ? ordered_json(*one.block_floor) : ordered_json()},
                          {"cache_mode", to_string(one.mode)},
                          {"reason", one.refusal.what()}});
  return {{"kind", to_string(result.search)},
          {"exhaustive", result.search == SearchKind::exhaustive},
          {"planned_layouts", result.planned_layouts},
          {"merged_layouts", result.merged_layouts},
          {"combinations", result.combinations},
          {"simulations", result.simulations},
          {"impossible", impossible}};
}

ordered_json settings_json(const std::vector<EngineSetting>& chosen) {
  ordered_json settings = ordered_json::array();
  for (const EngineSetting& setting : chosen)
    settings.push_back({{"key", setting.key}, {"value", setting.value}, {"flag", setting.flag}});
  return settings;
}

ordered_json serve_json(const ServeCommand& serve) {
  return {{"command", serve.command}, {"beside", serve.beside}};
}

}  // namespace

std::string recommend_json(const RecommendReport& report) {
  const Recommendation& result = report.result;
  const RecommendReasons reasons = recommend_reasons(report);
  ordered_json json;
  json["schema"] = recommend_schema_id;
  json["model"] = report.model;
  json["release"] = to_string(report.engine.release);
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
  json["search"] = search_json(result);
  json["least_concurrency"] = result.least_concurrency;
  json["default"] = result.default_candidate ? ordered_json(*result.default_candidate) : ordered_json();
  json["default_refused"] = result.default_refused ? result.default_refused->what() : "";
  json["pick"] = result.pick;
  json["pick_without_packing"] = result.unpacked_pick ? ordered_json(*result.unpacked_pick) : ordered_json();
  json["front"] = result.front;
  json["settings"] = settings_json(report.pick.settings);
  json["serve"] = serve_json(report.pick.serve);
  if (report.unpacked_pick) {
    json["settings_without_packing"] = settings_json(report.unpacked_pick->settings);
    json["serve_without_packing"] = serve_json(report.unpacked_pick->serve);
  }
  json["reasons"] = {{"never_hits", reasons.never_hits}, {"gains", reasons.gains},     {"costs", reasons.costs},
                     {"choice", reasons.choice},         {"unpacked", reasons.unpacked}, {"packs", reasons.packs},
                     {"changes", reasons.changes}};
  json["what_ifs"] = what_ifs_json(result);
  json["commands"] = report.commands;
  if (result.unpacked_pick) json["commands_without_packing"] = report.unpacked_commands;
  json["candidates"] = to_json(candidates_table(report));
  return json_text(json);
}

}  // namespace hybridkv
