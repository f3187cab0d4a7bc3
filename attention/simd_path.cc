#include "attention/simd_path.h"

#include <array>

#include "attention/amx.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hybridkv {

namespace {

#if defined(__x86_64__)
/// Conversion of fp16 by the processor; clang's __builtin_cpu_supports knows no "f16c". That the system keeps the wide
/// registers, which this needs too, is what "avx2" says.
bool has_f16c() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

}  // namespace

namespace {

bool has_instructions(SimdPath path) {
#if defined(__x86_64__)
  switch (path) {
    case SimdPath::plain: return true;
    case SimdPath::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case SimdPath::avx512:
      return has_instructions(SimdPath::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case SimdPath::avx512bf16: return has_instructions(SimdPath::avx512) && __builtin_cpu_supports("avx512bf16");
    case SimdPath::amx: return has_instructions(SimdPath::avx512bf16) && may_use_amx();
  }
#endif
  return path == SimdPath::plain;
}

}  // namespace

bool is_available(SimdPath path) {
  // Asked for once: a virtual machine answers the question in tens of microseconds.
  static const auto available = [] {
    std::array<bool, all_simd_paths.size()> has{};
    for (const SimdPath each : all_simd_paths) has[static_cast<std::size_t>(each)] = has_instructions(each);
    return has;
  }();
  return available[static_cast<std::size_t>(path)];
}

std::vector<SimdPath> available_simd_paths() {
  std::vector<SimdPath> available;
  for (const SimdPath path : all_simd_paths)
    if (is_available(path)) available.push_back(path);
  return available;
}

SimdPath best_simd_path() {
  static const SimdPath best = available_simd_paths().back();
  return best;
}

}  // namespace hybridkv
