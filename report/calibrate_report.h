#pragma once

#include <string>
#include <vector>

#include "ask/clock/calibrate.h"
#include "ask/clock/clock_score.h"
#include "report/format.h"

namespace hybridkv {

/// `calibrate --format FORMAT`: what was measured beside what the clock said before and says now, or the tests to run.
std::string render_calibrate(const CalibrateAnswer& answer, Format format, const Style& style = {});

/// `calibrate --rows`: how well clocks predict the runs of a table.
std::string render_clock_score(const std::vector<ClockScore>& scores, Format format, const Style& style = {});

/// `calibrate --rows --unseen`: how well fits predict what they leave out.
std::string render_unseen_score(const std::vector<ClockScore>& scores, Format format, const Style& style = {});

}  // namespace hybridkv
