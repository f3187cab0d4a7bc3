#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "ask/recommend.h"

namespace hybridkv {

/// Parts of `recommend --format json` that are the same whatever the engine.

/// The question: schema, model, engine, lengths, workload.
nlohmann::ordered_json asked_json(const RecommendBasics& basics, const SearchResult& result);

/// Adds least_concurrency, default, default_refused and pick.
void add_picked_json(nlohmann::ordered_json& json, const SearchResult& result);

nlohmann::ordered_json what_ifs_json(const SearchResult& result);
nlohmann::ordered_json settings_json(const std::vector<EngineSetting>& chosen);
nlohmann::ordered_json serve_json(const ServeCommand& serve);
/// What any policy could find with the pick's layout; null without a bound.
nlohmann::ordered_json bound_json(const std::optional<LayoutBound>& bound);

}  // namespace hybridkv
