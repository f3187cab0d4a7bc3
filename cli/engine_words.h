#pragma once

#include <string>

#include "verify/forward/forward_path.h"

namespace hybridkv {

/// A help text with names of engines in place of these words: {default}, that of a scenario that says none; {family},
/// its first part; {today}, the one whose start is meant where nobody says one, and {command}, the words that start it;
/// {tree} and {slots}, the first whose requests go through such an index, or the default where there is none.
std::string with_engines(std::string help);

/// The names of all engines whose forward passes go that way: "sglang-0.5.23".
std::string engines_through(ForwardPath path);

}  // namespace hybridkv
