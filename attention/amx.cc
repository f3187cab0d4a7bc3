#include "attention/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hybridkv {

#if defined(__x86_64__) && defined(__linux__)

namespace {

bool ask_for_amx() {
  constexpr unsigned int amx_bf16 = 1u << 22, amx_tile = 1u << 24;
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & amx_bf16) == 0 || (edx & amx_tile) == 0)
    return false;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

bool may_use_amx() {
  static const bool allowed = ask_for_amx();
  return allowed;
}

#else

bool may_use_amx() { return false; }

#endif

}  // namespace hybridkv
