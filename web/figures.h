#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// The layout of the first pack size at its longest length as the page shows it: {"model", "engine", "pack",
/// "num_packs", "rows": [{name, title, unit, value, text, symbol}], "pages": [{title, bytes, block_tokens, parts:
/// [{begin, end, kind, word, title}]}], "pages_refused", "warnings", "start_errors", "kernels": [{verdict, text}],
/// "notes"}. Rows are those that layouts are compared by (ask/compare/compare_rows.h); `symbol` names the decision
/// of `explain` that a number comes from, "" where there is none. Kinds of parts are key, value, kv, state0,
/// state1, … and padding. Throws InputError as plan_scenario.
std::string figures_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
