#pragma once

#include <string>

#include "audit/event.h"
#include "audit/recording.h"

namespace hybridkv {

/// The line of a header or an event, with its end. Reading it back gives the same.
std::string recording_line(const Recording& recording);
std::string recording_line(const RecordedEvent& event);

}  // namespace hybridkv
