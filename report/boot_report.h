#pragma once

#include <string>

#include "ask/start/boot.h"
#include "report/format.h"

namespace hybridkv {

/// `boot --format FORMAT`: the result, what fails first, the lines that the engine prints, the figures behind them,
/// what of it is estimated, and commands to try; csv: the figures alone.
std::string render_boot(const BootAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
