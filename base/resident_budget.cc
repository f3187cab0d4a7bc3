#include "base/resident_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/bytes_text.h"
#include "base/checked.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

/// The number a file consists of; nothing where it is missing or holds a word ("max").
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

/// The number after a key at the start of a line ("inactive_file 4096", "MemAvailable: 4 kB").
std::optional<std::int64_t> number_after(std::string_view key, const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  std::int64_t number = 0;
  while (stream >> word) {
    if (word == key && stream >> number) return number;
    stream.clear();
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// Names of the files of one cgroup version.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* droppable;  ///< key in memory.stat: file cache that is used no more
};
constexpr CgroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr CgroupFiles version_2{"memory.max", "memory.current", "inactive_file"};

/// Least room a cgroup or one of its ancestors leaves; a very large number without any limit.
std::int64_t cgroup_room(const fs::path& mount, const fs::path& group, const CgroupFiles& files) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  fs::path level = group.relative_path();
  while (true) {
    const fs::path folder = mount / level;
    const auto limit = number_in(folder / files.limit);
    const auto usage = number_in(folder / files.usage);
    if (limit && usage) {
      const std::int64_t droppable = number_after(files.droppable, folder / "memory.stat").value_or(0);
      const std::int64_t kept = *usage - std::clamp<std::int64_t>(droppable, 0, *usage);
      room = std::min(room, std::max<std::int64_t>(0, *limit - kept));
    }
    if (level.empty()) return room;
    level = level.parent_path();
  }
}

/// Least room over the memory cgroups this process is in: lines "4:memory:/group" (v1) and "0::/group" (v2).
std::int64_t cgroup_room(const fs::path& root) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") room = std::min(room, cgroup_room(root / "sys/fs/cgroup", group, version_2));
    else if (controllers.find(",memory,") != std::string::npos)
      room = std::min(room, cgroup_room(root / "sys/fs/cgroup/memory", group, version_1));
  }
  return room;
}

}  // namespace

std::int64_t free_memory_bytes(const fs::path& root) {
  const auto available = number_after("MemAvailable:", root / "proc/meminfo");
  if (!available)
    throw ResourceError(fmt::format("{}: no MemAvailable, so the free memory is unknown",
                                    (root / "proc/meminfo").string()));
  return std::min<std::int64_t>(Checked(*available) * 1024, cgroup_room(root));
}

ResidentBudget::ResidentBudget() : ResidentBudget(free_memory_bytes() / 2) { is_half_of_free_ = true; }

ResidentBudget::ResidentBudget(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {
  expects(limit_bytes >= 0, "a budget is not negative");
}

void ResidentBudget::require(std::int64_t bytes, std::string_view what) const {
  expects(bytes >= 0, "a need is not negative");
  if (bytes <= limit_bytes_ - charged_bytes_) return;
  const std::int64_t total = Checked(charged_bytes_) + bytes;
  const std::string used =
      charged_bytes_ == 0 ? "" : fmt::format(", of which {} are in use", bytes_text(charged_bytes_));
  const std::string way_out =
      is_half_of_free_ ? fmt::format("the budget is half of the free memory: run where {} are free, or ask for less",
                                     bytes_text(Checked(total) * 2))
                       : fmt::format("raise the budget to {}, or ask for less", bytes_text(total));
  throw ResourceError(fmt::format("{} needs {} of resident memory, but the budget is {}{}; {}", what, bytes_text(bytes),
                                  bytes_text(limit_bytes_), used, way_out));
}

void ResidentBudget::charge(std::int64_t bytes, std::string_view what) {
  require(bytes, what);
  charged_bytes_ += bytes;
}

void ResidentBudget::release(std::int64_t bytes) {
  expects(bytes >= 0 && bytes <= charged_bytes_, "only charged bytes are released");
  charged_bytes_ -= bytes;
}

}  // namespace hybridkv
