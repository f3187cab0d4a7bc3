#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hybridkv {

/// Real memory of a pool's full size, of which only touched memory pages become resident.
///
/// Address space is reserved at once; the kernel hands out zeroed memory page by page on first write, never in
/// huge pages, so the far end of a 40 GiB pool can be used on a small machine. An inaccessible memory page lies
/// directly before and behind: running over the end by 64 bytes or more, or under the start by a memory page,
/// ends the program instead of corrupting it. Move-only; the memory goes back when the owner dies.
class Pool {
 public:
  /// Throws ResourceError with the size and the limits in force where the kernel refuses the reservation.
  /// Pre: size_bytes >= 0.
  explicit Pool(std::int64_t size_bytes);
  ~Pool();
  Pool(Pool&& other) noexcept;
  Pool& operator=(Pool&& other) noexcept;

  /// The whole pool; zero until written. Starts on a multiple of 64 bytes (of a memory page where the size is a
  /// multiple of a memory page).
  std::span<std::byte> bytes() const { return {base_, static_cast<std::size_t>(size_bytes_)}; }
  std::int64_t size_bytes() const { return size_bytes_; }

  /// Bytes the pool really takes at this moment, in whole memory pages: resident ones and swapped ones. Reading a
  /// memory page that was never written does not count. Throws ResourceError where /proc/self/smaps cannot be read.
  std::int64_t resident_bytes() const;

  /// Asks the kernel for all memory pages of a part of a pool that is about to be written, which costs half of what as
  /// many faults do. Changes no content; a kernel that cannot do it hands them out one by one.
  static void populate(std::span<std::byte> bytes);

  /// Bytes of its first memory page that lie in front of a pool of that size, whose end is that of a memory page, or
  /// less than 64 bytes short of it. Pre: size_bytes >= 0.
  static std::int64_t bytes_in_front(std::int64_t size_bytes);

 private:
  friend std::int64_t resident_bytes(std::span<const Pool> pools);

  std::byte* mapping_ = nullptr;  ///< first guard page; null after a move
  std::int64_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

/// The same of several pools together, at the price of one. Throws as Pool::resident_bytes.
std::int64_t resident_bytes(std::span<const Pool> pools);

}  // namespace hybridkv
