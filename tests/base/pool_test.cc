#include "base/pool.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace hybridkv {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
const std::int64_t page = sysconf(_SC_PAGESIZE);

static_assert(!std::is_copy_constructible_v<Pool> && std::is_nothrow_move_constructible_v<Pool>);

/// Whether the kernel could read and write a byte: a system call reports what would end the program otherwise.
bool accessible(std::byte* address) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const bool readable = write(ends[1], address, 1) == 1;
  if (!readable) CHECK(errno == EFAULT);
  const bool writable = readable && read(ends[0], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return writable;
}

TEST_CASE("law: the far end of a 40 GiB pool is usable and only touched memory pages are resident") {
  const Pool pool(40 * gib);
  REQUIRE(pool.bytes().size() == static_cast<std::size_t>(40 * gib));
  CHECK(pool.resident_bytes() == 0);
  std::byte* const last = &pool.bytes().back();
  *last = std::byte{0x7e};
  CHECK(*last == std::byte{0x7e});
  CHECK(pool.resident_bytes() == page);
  for (std::int64_t at = 0; at < 40 * gib; at += gib) pool.bytes()[static_cast<std::size_t>(at)] = std::byte{1};
  CHECK(pool.resident_bytes() == 41 * page);
}

TEST_CASE("law: reading takes no memory, and unwritten memory is zero") {
  const Pool pool(gib);
  std::byte all{0};
  for (std::int64_t at = 0; at < gib; at += gib / 64) all |= pool.bytes()[static_cast<std::size_t>(at)];
  CHECK(all == std::byte{0});
  CHECK(pool.resident_bytes() == 0);
}

TEST_CASE("law: touching a stretch makes just that stretch resident, never a huge page") {
  const Pool pool(64 << 20);
  for (std::int64_t at = 0; at < 100 * page; ++at) pool.bytes()[static_cast<std::size_t>(at)] = std::byte{1};
  CHECK(pool.resident_bytes() == 100 * page);
}

TEST_CASE("law: a stretch that is asked for at once takes no memory beside it, and is zero") {
  const Pool pool(gib);
  const std::span<std::byte> stretch =
      pool.bytes().subspan(static_cast<std::size_t>(5 * page + 100), static_cast<std::size_t>(3 * page));
  Pool::populate(stretch);  // which reaches into four memory pages
  const std::int64_t resident = pool.resident_bytes();
  if (resident == 0) std::printf("SKIPPED: this kernel hands memory pages out one by one\n");
  else CHECK(resident == 4 * page);
  CHECK(std::all_of(stretch.begin(), stretch.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("edge: the bytes before and behind a pool are not accessible") {
  for (const std::int64_t size : {page, 3 * page, gib}) {
    const Pool pool(size);
    std::byte* const first = pool.bytes().data();
    CHECK(accessible(first));
    CHECK(accessible(first + size - 1));
    CHECK_FALSE(accessible(first - 1));
    CHECK_FALSE(accessible(first + size));
  }
}

TEST_CASE("edge: a pool of any size is aligned and ends within 63 bytes of its guard") {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{64}, std::int64_t{100}, page - 1, page + 1}) {
    CAPTURE(size);
    const Pool pool(size);
    std::byte* const first = pool.bytes().data();
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(accessible(first + size - 1));
    CHECK_FALSE(accessible(first + (size + 63) / 64 * 64));
    CHECK_FALSE(accessible(first - page));
  }
}

TEST_CASE("law: a pool reserves its bytes and a memory page before and behind them, no more") {
  const auto mapped_pages = [] {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, 3 * page, gib}) {
    CAPTURE(size);
    const std::int64_t before = mapped_pages();
    const Pool pool(size);
    const std::int64_t after = mapped_pages();
    CHECK(after - before == (size + page - 1) / page + 2);
  }
}

TEST_CASE("edge: an empty pool has no byte and no memory") {
  const Pool pool(0);
  CHECK(pool.bytes().empty());
  CHECK(pool.resident_bytes() == 0);
}

TEST_CASE("law: moving hands the memory over, assigning gives the old memory back") {
  Pool first(2 * page);
  first.bytes()[5] = std::byte{9};
  std::byte* const address = first.bytes().data();
  Pool second(std::move(first));
  CHECK(second.bytes().data() == address);
  CHECK(second.bytes()[5] == std::byte{9});
  Pool third(page);
  std::byte* const freed = third.bytes().data();
  third = std::move(second);
  CHECK(third.bytes().data() == address);
  CHECK(third.size_bytes() == 2 * page);
  CHECK(third.resident_bytes() == page);
  CHECK_FALSE(accessible(freed));
}

TEST_CASE("edge: more than the address space is refused with the number") {
  try {
    const Pool pool(std::int64_t{1} << 61);
    FAIL("2 EiB were reserved");
  } catch (const ResourceError& error) {
    CHECK(std::string(error.what()).find("2305843009213693952 bytes (2.00 EiB)") != std::string::npos);
    CHECK(std::string(error.what()).find("less cache memory") != std::string::npos);
  }
}

TEST_CASE("edge: a limit on the address space is named in the refusal") {
  std::int64_t mapped_pages = 0;
  std::ifstream("/proc/self/statm") >> mapped_pages;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(mapped_pages * page + gib / 4);
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  std::string message;
  try {
    const Pool pool(gib);
  } catch (const ResourceError& error) {
    message = error.what();
  }
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(message.find("1073741824 bytes (1.00 GiB)") != std::string::npos);
  CHECK(message.find("address space is limited to " + std::to_string(tight.rlim_cur)) != std::string::npos);
}

}  // namespace
}  // namespace hybridkv
