#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace hybridkv {

/// Bytes this process can still make resident without swapping: MemAvailable, or what the memory cgroup (v1 or
/// v2, any level) leaves if that is less; file cache that the kernel can drop counts as free.
/// Reads /proc and /sys under `root`. Throws ResourceError where root/proc/meminfo has no MemAvailable.
std::int64_t free_memory_bytes(const std::filesystem::path& root = "/");

/// How much memory hybridkv allows itself to make resident, and how much of that is spoken for.
/// Invariant: 0 <= charged <= limit.
class ResidentBudget {
 public:
  /// Half of the free memory of this moment.
  ResidentBudget();
  /// A limit of the caller's own. Pre: limit_bytes >= 0.
  explicit ResidentBudget(std::int64_t limit_bytes);

  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::int64_t charged_bytes() const { return charged_bytes_; }

  /// Throws ResourceError, with what is needed, what is allowed and what would help, unless `bytes` more fit.
  /// `what` names the use: "verify of 3 requests". Pre: bytes >= 0.
  void require(std::int64_t bytes, std::string_view what) const;

  /// As `require`, and counts the bytes as used until `release`.
  void charge(std::int64_t bytes, std::string_view what);

  /// Gives back charged bytes. Pre: 0 <= bytes <= charged_bytes().
  void release(std::int64_t bytes);

 private:
  std::int64_t limit_bytes_ = 0;
  std::int64_t charged_bytes_ = 0;
  bool is_half_of_free_ = false;  ///< says so in messages
};

/// Bytes charged to a budget for as long as this lives.
class ResidentCharge {
 public:
  /// Throws as ResidentBudget::charge.
  ResidentCharge(ResidentBudget& budget, std::int64_t bytes, std::string_view what) : budget_(budget), bytes_(bytes) {
    budget_.charge(bytes, what);
  }
  ~ResidentCharge() { budget_.release(bytes_); }
  ResidentCharge(const ResidentCharge&) = delete;
  ResidentCharge& operator=(const ResidentCharge&) = delete;

 private:
  ResidentBudget& budget_;
  std::int64_t bytes_;
};

}  // namespace hybridkv
