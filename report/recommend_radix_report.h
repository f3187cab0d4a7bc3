#pragma once

#include <string>
#include <vector>

#include "ask/recommend_radix.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// A recommendation under an engine with radix pools as it is shown: the answer, and the commands that repeat its
/// numbers, ready for a shell.
struct RadixRecommendReport : RadixRecommendAnswer {
  std::vector<std::string> commands;  ///< of the pick
};

/// What was asked, the pick with its reasons and the engine's command line.
Document recommend_radix_pick(const RadixRecommendReport& report);
/// What the pick was chosen from: the Pareto front, and what cannot run.
Document recommend_radix_front(const RadixRecommendReport& report);
/// Both, and the commands.
Document recommend_radix_report(const RadixRecommendReport& report);

/// One row per candidate with everything that plan and simulate say of it.
Table radix_candidates_table(const RadixRecommendReport& report);

/// `recommend --format FORMAT`: recommend_radix_report as text or Markdown, radix_candidates_table as csv, all of it as
/// json.
std::string render_recommend_radix(const RadixRecommendReport& report, Format format, const Style& style = {});

}  // namespace hybridkv
