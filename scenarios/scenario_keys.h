#pragma once

#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// The keys of a whole scenario.
const Section<Scenario>& scenario_keys();

/// The cache mode where the scenario names none, which its engine and its model decide together: for who reads one of
/// the two again.
void set_default_mode(const YamlNode& root, Scenario& scenario);

}  // namespace hybridkv
