#pragma once

#include "base/named_values.h"
#include "planner/arrangement.h"

namespace hybridkv {

/// How it is known that an engine arranges memory like this.
enum class Evidence {
  run,         ///< results of the engine's own functions agree
  builder,     ///< the same with a plug-in that the program writes: no release does so by itself
  modelled,    ///< ours: an arrangement that the release does not make
  source_only, ///< from the engine's source and papers; no run confirms it
};

inline constexpr auto evidence_names = std::to_array<Named<Evidence>>(
    {{Evidence::run, "run"},
     {Evidence::builder, "builder"},
     {Evidence::modelled, "modelled"},
     {Evidence::source_only, "read"}});

/// Did functions of the engine make it, by themselves or with a plug-in of ours?
constexpr bool was_run(Evidence evidence) { return evidence == Evidence::run || evidence == Evidence::builder; }

constexpr std::string_view to_string(Evidence value) { return name_in(evidence_names, value); }

/// Every arrangement of a release whose rules were read counts as read, and so does a strategy that only such releases
/// have, every arrangement without attention, with which no engine was run, and what an encoder adds. Of a release that
/// was run, what it does not arrange itself is modelled: another strategy, packs of several layers where the release
/// has one allocation and no builder, and rules that are supposed.
Evidence evidence_of(const Arrangement& arrangement);

}  // namespace hybridkv
