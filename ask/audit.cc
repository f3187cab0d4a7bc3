#include "ask/audit.h"

#include "base/input_file.h"

namespace hybridkv {

AuditAnswer audit_cache(const std::string& path, const std::function<void(std::int64_t, int)>& on_progress) {
  AuditAnswer answer;
  answer.name = input_name(path);
  static_cast<OwnershipVerdict&>(answer) = audit_recording(path, [&](std::int64_t lines, double fraction) {
    if (on_progress) on_progress(lines, static_cast<int>(100 * fraction));
  });
  return answer;
}

}  // namespace hybridkv
