#pragma once

#include <string>
#include <vector>

#include "ask/plot/page_strip.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// Okabe and Ito's colours, lightened so that black text can be read on them. A hue says what a part is, never whose:
/// layers are as many as they like, and stand in order with their names above.
inline constexpr const char* key_fill = "#66AAD1";
inline constexpr const char* value_fill = "#F0C566";
inline constexpr const char* mixed_fill = "#66C5AB";  ///< K and V that no run keeps apart, and latents
inline constexpr const char* padding_fill = "url(#padding)";  ///< a hatch of that name

/// What a part of a page of a plan is: "key", "value" or, where no run keeps them apart, "kv"; "state0", "state1", … by
/// the tensors of a state; "padding".
std::string part_kind(const CachePlan& plan, const PageStrip& strip, const PagePart& part);

/// The fill of a part of a page of a plan, by its kind.
std::string fill_of(const CachePlan& plan, const PageStrip& strip, const PagePart& part);

/// Is the page that of the last pack of a spec, which lacks layers?
bool is_short_pack(const CachePlan& plan, const PageStrip& strip);

/// What a page is: whose group sees it, its layers, its block and kernel blocks.
std::string page_title(const CachePlan& plan, const PageStrip& strip);

/// What is written into a part; `short_pack`: what is free there is no padding but the room of a layer.
std::string part_word(const PagePart& part, bool short_pack = false);

/// What is shown where the mouse rests on a part.
std::string part_title(const PagePart& part, bool short_pack = false);

}  // namespace hybridkv
