#include "report/recommend_json.h"

#include "report/json_text.h"
#include "report/recommend_json_parts.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

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

}  // namespace

std::string recommend_json(const RecommendReport& report) {
  const Recommendation& result = report.result;
  const RecommendReasons reasons = recommend_reasons(report);
  ordered_json json = asked_json(report, result);
  json["search"] = search_json(result);
  add_picked_json(json, result);
  json["pick_without_packing"] = result.unpacked_pick ? ordered_json(*result.unpacked_pick) : ordered_json();
  json["front"] = result.front;
  json["settings"] = settings_json(report.pick.settings);
  json["serve"] = serve_json(report.pick.serve);
  json["pick_bound"] = bound_json(report.pick_bound);
  if (report.unpacked_pick) {
    json["settings_without_packing"] = settings_json(report.unpacked_pick->settings);
    json["serve_without_packing"] = serve_json(report.unpacked_pick->serve);
  }
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
