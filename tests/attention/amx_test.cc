#include "attention/amx.h"

#include <doctest/doctest.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <string>

#include "tests/attention/processor_flags.h"

namespace hybridkv::test {
namespace {

TEST_CASE("law: tiles are used exactly where the system has granted their registers") {
  const bool allowed = may_use_amx();
  // What a process was granted is told by another call than that which asks for it: ARCH_GET_XCOMP_PERM sets a bit for
  // each kind of registers, bit 18 for the data of tiles, and fails where the system knows of none. Nothing else in
  // this program asks for them.
  constexpr long granted_registers = 0x1022;
  std::uint64_t granted = 0;
  if (syscall(SYS_arch_prctl, granted_registers, &granted) != 0) granted = 0;
  CHECK(allowed == ((granted >> 18 & 1) == 1));
}

TEST_CASE("law: tiles are used wherever the processor multiplies them in bf16 and the system keeps their registers") {
  const std::set<std::string> flags = processor_flags();
  if (flags.empty()) {
    MESSAGE("SKIPPED: this system does not list what the processor has");
    return;
  }
  // ARCH_GET_XCOMP_SUPP sets a bit for each kind of registers that a process may ask for.
  constexpr long registers_to_ask_for = 0x1021;
  std::uint64_t kept = 0;
  if (syscall(SYS_arch_prctl, registers_to_ask_for, &kept) != 0) kept = 0;
  CHECK(may_use_amx() == (flags.contains("amx_bf16") && flags.contains("amx_tile") && (kept >> 18 & 1) == 1));
}

}  // namespace
}  // namespace hybridkv::test
#endif
