#include "base/resident_budget.h"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"
#include "tests/scratch_folder.h"

namespace hybridkv {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mib = 1 << 20;

/// A folder that looks like the root of a machine: /proc and /sys files with texts of our own.
class FakeMachine {
 public:
  FakeMachine() {
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1024 kB\nMemAvailable: 4194304 kB\n");
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_.path / file).parent_path());
    std::ofstream(root_.path / file) << text;
  }
  std::int64_t free_bytes() const { return free_memory_bytes(root_.path); }

 private:
  testing::ScratchFolder root_;
};

TEST_CASE("edge: without cgroups the free memory is MemAvailable") {
  const FakeMachine machine;
  CHECK(machine.free_bytes() == 4096 * mib);
}

TEST_CASE("edge: a cgroup v2 limit counts where it leaves less, on any level, without droppable cache") {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/slice/job\n");
  machine.write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  machine.write("sys/fs/cgroup/slice/job/memory.current", "1048576\n");
  CHECK(machine.free_bytes() == 4096 * mib);
  machine.write("sys/fs/cgroup/slice/memory.max", std::to_string(1000 * mib));
  machine.write("sys/fs/cgroup/slice/memory.current", std::to_string(300 * mib));
  CHECK(machine.free_bytes() == 700 * mib);
  machine.write("sys/fs/cgroup/slice/memory.stat", "anon 7\nfile 9\ninactive_file " + std::to_string(100 * mib) + "\n");
  CHECK(machine.free_bytes() == 800 * mib);
  machine.write("sys/fs/cgroup/slice/memory.current", std::to_string(2000 * mib));
  CHECK(machine.free_bytes() == 0);
}

TEST_CASE("edge: a cgroup v1 limit counts, also where only the container's own root is mounted") {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(512 * mib));
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(112 * mib));
  CHECK(machine.free_bytes() == 400 * mib);
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", std::to_string(100 * mib));
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", std::to_string(30 * mib));
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.stat",
                "inactive_file 1\ntotal_inactive_file " + std::to_string(5 * mib) + "\n");
  CHECK(machine.free_bytes() == 75 * mib);
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712");
  CHECK(machine.free_bytes() == 400 * mib);
}

TEST_CASE("edge: a machine that does not tell its free memory is refused") {
  const FakeMachine machine;
  machine.write("proc/meminfo", "MemTotal: 8388608 kB\n");
  CHECK_THROWS_AS(machine.free_bytes(), ResourceError);
}

TEST_CASE("law: the default budget is half of the free memory of this machine") {
  const std::int64_t before = free_memory_bytes();
  const ResidentBudget budget;
  const std::int64_t after = free_memory_bytes();
  const std::int64_t drift = std::abs(before - after) + 256 * mib;
  CHECK(budget.limit_bytes() > 0);
  CHECK(std::abs(2 * budget.limit_bytes() - before) <= drift);
}

TEST_CASE("law: what is charged is no longer free, what is released is") {
  ResidentBudget budget(1000);
  budget.charge(600, "first");
  CHECK(budget.charged_bytes() == 600);
  CHECK_NOTHROW(budget.require(400, "exact fit"));
  CHECK_THROWS_AS(budget.charge(401, "second"), ResourceError);
  CHECK(budget.charged_bytes() == 600);
  budget.release(200);
  CHECK_NOTHROW(budget.charge(401, "second"));
  CHECK(budget.charged_bytes() == 801);
  CHECK_THROWS_AS(budget.release(802), std::logic_error);
  CHECK_THROWS_AS(budget.require(std::numeric_limits<std::int64_t>::max() / 4, "huge"), ResourceError);
}

TEST_CASE("edge: a refusal names the need, the budget, what is in use and the way out") {
  ResidentBudget budget(2048);
  budget.charge(1024, "tables");
  try {
    budget.require(4096, "verify of 3 requests");
    FAIL("4096 bytes fitted");
  } catch (const ResourceError& error) {
    CHECK(std::string(error.what()) ==
          "verify of 3 requests needs 4096 bytes (4.00 KiB) of resident memory, but the budget is 2048 bytes "
          "(2.00 KiB), of which 1024 bytes (1.00 KiB) are in use; raise the budget to 5120 bytes (5.00 KiB), or ask "
          "for less");
  }
  CHECK_THROWS_WITH_AS(ResidentBudget().require(std::int64_t{1} << 55, "a dream"),
                       doctest::Contains("run where 72057594037927936 bytes (64.00 PiB) are free"), ResourceError);
}

}  // namespace
}  // namespace hybridkv
