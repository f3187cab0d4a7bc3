#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "audit/event.h"
#include "audit/finding.h"
#include "audit/ownership.h"

namespace hybridkv {

/// A fault of caches that were reported, to be planted into the recording of a right one.
struct RecordingFault {
  std::string_view name;
  std::string_view description;
  OwnershipFault found_as;  ///< by an audit
  /// The events that come in place of this one; empty where it gives no place for the fault. `before`: what is known
  /// ahead of the event.
  std::vector<RecordedEvent> (*plant)(const OwnedCache& before, const RecordedEvent& event);
};
std::span<const RecordingFault> all_recording_faults();
/// The fault of that name; null: there is none.
const RecordingFault* find_recording_fault(std::string_view name);

/// Passes the events of a recording on, with a fault planted at the first place that it has.
class FaultPlanter {
 public:
  FaultPlanter(const Recording& recording, const RecordingFault& fault,
               std::function<void(const RecordedEvent&)> next);

  /// The header, with what the fault needs to mean anything: two ranks, bytes of blocks, element types.
  const Recording& recording() const { return shadow_.recording(); }
  void consume(const RecordedEvent& event);
  bool is_planted() const { return is_planted_; }

 private:
  const RecordingFault& fault_;
  std::function<void(const RecordedEvent&)> next_;
  Ownership shadow_;  // of the recording without the fault
  bool is_planted_ = false;
};

}  // namespace hybridkv
