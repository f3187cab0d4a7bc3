#include "planner/kernel_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hybridkv {

namespace {

KernelVerdict worst_verdict(const std::vector<KernelFit>& fits) {
  const KernelFit* const worst = worst_fit(fits);
  return worst == nullptr ? KernelVerdict::fits : worst->verdict;
}

}  // namespace

std::string kernel_sentence(const KernelFit& fit) {
  return fmt::format("{} {}: {}", fit.kernel, words_of(fit.verdict).words, fmt::join(fit.reasons, "; "));
}

std::string kernel_headline(const KernelFit& fit) {
  KernelFit first = fit;
  first.reasons.resize(std::min<std::size_t>(1, first.reasons.size()));
  return kernel_sentence(first);
}

const KernelFit* worst_fit(const std::vector<KernelFit>& fits) {
  const auto worst = std::max_element(fits.begin(), fits.end(), [](const KernelFit& a, const KernelFit& b) {
    return a.verdict < b.verdict;
  });
  return worst == fits.end() ? nullptr : &*worst;
}

bool harms_kernel(const std::vector<KernelFit>& fits) { return worst_verdict(fits) >= KernelVerdict::refuses; }

bool corrupts_kernel(const std::vector<KernelFit>& fits) { return worst_verdict(fits) == KernelVerdict::corrupts; }

}  // namespace hybridkv
