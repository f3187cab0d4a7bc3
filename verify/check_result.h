#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace hybridkv {

/// What became of one check.
enum class CheckStatus {
  passed,
  failed,
  not_run,  ///< an earlier failure made it unsafe or meaningless; never counts as passed
  no_codec, ///< the plan keeps bytes whose values nothing here can compute; never counts as passed
  declined, ///< nothing of the plan is what its backend claims; shows nothing and is no fault
};

/// One named check of a verification: what it looked at, and what it found.
struct CheckResult {
  std::string name;              ///< stable: "address-audit-intervals", "attention-full", …
  CheckStatus status = CheckStatus::passed;
  std::int64_t count = 0;        ///< things looked at
  std::string unit;              ///< what they are: "elements", "bytes", "outputs"
  double max_error = 0;          ///< largest absolute error of a numeric check
  double tolerance = 0;          ///< allowed for it; 0 for exact checks
  std::string message;           ///< the first fault with address, layer and block; or what is notable
  bool operator==(const CheckResult&) const = default;

  /// Records a fault; the first message is kept.
  void fail(const std::string& what) {
    if (status != CheckStatus::failed) message = what;
    status = CheckStatus::failed;
  }

  /// Takes up what another part of the same check looked at and found.
  void add(const CheckResult& part) {
    count += part.count;
    max_error = std::max(max_error, part.max_error);
    if (part.status == CheckStatus::failed) fail(part.message);
  }
  void add(std::span<const CheckResult> parts) {
    for (const CheckResult& part : parts) add(part);
  }
};

}  // namespace hybridkv
