#pragma once

#include "planner/cache_plan.h"
#include "report/json_archive.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<KernelVerdict> = [] {
  std::array<KernelVerdict, kernel_verdict_words.size()> verdicts{};
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] = kernel_verdict_words[i].verdict;
  return verdicts;
}();

/// A plan and every other answer that judges kernels show a fit alike.
template <class Archive, Is<KernelFit> T>
void fields(Archive& archive, T& fit) {
  archive.named("kernel_fit", "What a layout does to a kernel whose card was given.");
  archive("kernel", fit.kernel, "Name and version.");
  archive("verdict", fit.verdict, "The worst last: stale lets NaN of unwritten slots in, corrupts is silently wrong.");
  archive("reasons", fit.reasons, "Sentences with the numbers.");
}

}  // namespace hybridkv
