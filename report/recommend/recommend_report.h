#pragma once

#include <string>
#include <vector>

#include "ask/recommend.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `recommend`.
inline constexpr const char* recommend_schema_id = "hybridkv-recommend/1";

/// Why the pick is the pick, one sentence each: what it gains over the default, what it costs, how it was chosen.
struct RecommendReasons {
  std::vector<std::string> never_hits;  ///< that the default finds nothing on this workload, and what would
  std::vector<std::string> overload;    ///< that requests come faster than the pick serves them
  std::vector<std::string> gains;
  std::vector<std::string> costs;
  std::vector<std::string> choice;
  std::vector<std::string> unpacked;    ///< the best pick that needs no packing against one that does
  std::vector<std::string> packs;       ///< why packs that divide the attention layers beat their neighbours
  std::vector<std::string> changes;     ///< which assumption would change the pick, and which would not
};
RecommendReasons recommend_reasons(const RecommendAnswer& report);

/// The answer in a sentence: "Take N = 3, mode align, because …".
std::string pick_verdict(const RecommendAnswer& report);

/// What was asked, the pick, its reasons and the settings to type: all but a title and the verdict.
Document recommend_pick(const RecommendAnswer& report);
/// What the pick was chosen from: the Pareto front, the packs side by side, and what cannot run.
Document recommend_front(const RecommendAnswer& report);
/// A title, the verdict, both, and the commands.
Document recommend_report(const RecommendAnswer& report);

/// One row per candidate with everything that plan and simulate say of it.
Table candidates_table(const RecommendAnswer& report);

/// `recommend --format FORMAT`: recommend_report as text or Markdown, candidates_table as csv, all of it as json.
std::string render_recommend(const RecommendAnswer& report, Format format, const Style& style = {});

}  // namespace hybridkv
