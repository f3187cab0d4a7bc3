#include "base/pool.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "base/bytes_text.h"
#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t start_alignment = 64;

/// What may stand in the way of a reservation on this machine, for the message.
std::string limits_text() {
  std::string text;
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
    text += fmt::format("; address space is limited to {} (ulimit -v)",
                        bytes_text(static_cast<std::int64_t>(address_space.rlim_cur)));
  int mode = 0;
  if (std::ifstream("/proc/sys/vm/overcommit_memory") >> mode && mode == 2)
    text += "; vm.overcommit_memory is 2, so reservations count as memory (0 or 1 is needed)";
  return text;
}

[[noreturn]] void refuse(std::int64_t size_bytes, int error) {
  throw ResourceError(fmt::format("the kernel refuses to reserve a pool of {}: {}{}; raise that limit or plan with "
                                  "less cache memory",
                                  bytes_text(size_bytes), std::strerror(error), limits_text()));
}

}  // namespace

Pool::Pool(std::int64_t size_bytes) : size_bytes_(size_bytes) {
  expects(size_bytes >= 0, "a pool's size is not negative");
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t usable = round_up(size_bytes, page);
  mapping_bytes_ = Checked(usable) + 2 * page;
  void* mapping = mmap(nullptr, static_cast<std::size_t>(mapping_bytes_), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) refuse(size_bytes, errno);
  mapping_ = static_cast<std::byte*>(mapping);
  std::byte* const first = mapping_ + page;
  if (usable > 0 && mprotect(first, static_cast<std::size_t>(usable), PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(mapping_, static_cast<std::size_t>(mapping_bytes_));
    refuse(size_bytes, error);
  }
  // Fails only on a kernel without huge pages, where there is nothing to switch off.
  if (usable > 0) madvise(first, static_cast<std::size_t>(usable), MADV_NOHUGEPAGE);
  // The pool ends at the guard behind it; what a size that is no multiple of the page leaves over lies in front.
  base_ = first + bytes_in_front(size_bytes);
}

Pool::~Pool() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<std::size_t>(mapping_bytes_));
}

Pool::Pool(Pool&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)),
      base_(std::exchange(other.base_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Pool& Pool::operator=(Pool&& other) noexcept {
  Pool moved(std::move(other));
  std::swap(mapping_, moved.mapping_);
  std::swap(mapping_bytes_, moved.mapping_bytes_);
  std::swap(base_, moved.base_);
  std::swap(size_bytes_, moved.size_bytes_);
  return *this;
}

std::int64_t Pool::resident_bytes() const { return hybridkv::resident_bytes({this, 1}); }

void Pool::populate(std::span<std::byte> bytes) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t start = first / page * page, end = (first + bytes.size() + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(start), end - start, MADV_POPULATE_WRITE);
#else
  static_cast<void>(bytes);
#endif
}

std::int64_t Pool::bytes_in_front(std::int64_t size_bytes) {
  return round_up(size_bytes, sysconf(_SC_PAGESIZE)) - round_up(size_bytes, start_alignment);
}

std::int64_t resident_bytes(std::span<const Pool> pools) {
  std::map<std::uintptr_t, std::uintptr_t> mappings;  // by their starts the ends
  for (const Pool& pool : pools) {
    const auto start = reinterpret_cast<std::uintptr_t>(pool.mapping_);
    mappings.emplace(start, start + static_cast<std::uintptr_t>(pool.mapping_bytes_));
  }
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  std::int64_t kib = 0;
  std::string line, key;
  while (std::getline(smaps, line)) {
    // A mapping starts with its addresses ("7f12-7f34 rw-p …"); its properties follow ("Rss:   12 kB").
    std::istringstream words(line);
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    if (words >> std::hex >> from >> dash >> to && dash == '-') {
      const auto after = mappings.upper_bound(from);
      inside = after != mappings.begin() && to <= std::prev(after)->second;
    } else if (inside && (line.starts_with("Rss:") || line.starts_with("Swap:"))) {
      std::istringstream property(line);
      std::int64_t amount = 0;
      property >> key >> amount;
      kib += amount;
    }
  }
  if (!smaps.eof()) throw ResourceError("cannot read /proc/self/smaps, which tells how much of a pool is resident");
  return kib * 1024;
}

}  // namespace hybridkv
