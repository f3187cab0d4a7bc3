#include "audit/ownership.h"

#include <utility>
#include <variant>

#include "audit/computed_steps.h"
#include "audit/held_tables.h"
#include "audit/transfers.h"

namespace hybridkv {

Ownership::Ownership(const Recording& recording, std::function<void(const OwnershipFinding&)> on_finding) {
  validate(recording);
  cache_.recording = recording;
  cache_.on_finding = std::move(on_finding);
  cache_.blocks.resize(recording.arenas.size());
}

void Ownership::consume(const RecordedEvent& event, std::int64_t line) {
  cache_.line = line;
  std::visit([&](const auto& one) { apply(cache_, one); }, event);
}

}  // namespace hybridkv
