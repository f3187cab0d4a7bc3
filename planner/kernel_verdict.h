#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// What a layout does to a kernel, the worst last.
enum class KernelVerdict {
  fits,      ///< every stride is one that it takes or derives
  not_used,  ///< the plan has no view of its kind
  unknown,   ///< it was not right on its dense layout, derives a stride by no known rule, or the plan has no views
  stale,     ///< right on written slots, but NaN in stale ones gets into its result
  refuses,   ///< it ends in an error
  corrupts,  ///< it is silently wrong
};

/// A verdict, its name, and what a sentence says of a kernel. A warning has the code "kernel_" with the name behind it.
struct KernelVerdictWords {
  KernelVerdict verdict;
  std::string_view name;
  std::string_view words;
};

/// By verdict.
inline constexpr auto kernel_verdict_words = std::to_array<KernelVerdictWords>(
    {{KernelVerdict::fits, "fits", "fits"},
     {KernelVerdict::not_used, "not_used", "is not used"},
     {KernelVerdict::unknown, "unknown", "is not known to fit"},
     {KernelVerdict::stale, "stale", "is right on written slots alone"},
     {KernelVerdict::refuses, "refuses", "would refuse this layout"},
     {KernelVerdict::corrupts, "corrupts", "would silently corrupt this layout"}});

constexpr const KernelVerdictWords& words_of(KernelVerdict verdict) {
  return kernel_verdict_words[static_cast<std::size_t>(verdict)];
}
constexpr std::string_view to_string(KernelVerdict verdict) { return words_of(verdict).name; }

/// What a plan does to a kernel whose card was given.
struct KernelFit {
  std::string kernel;               ///< name and version: "vllm.unified_attention 0.33.0"
  KernelVerdict verdict = KernelVerdict::fits;
  std::vector<std::string> reasons; ///< sentences without a full stop, each with its numbers, the gravest first
  bool operator==(const KernelFit&) const = default;
};

/// "vllm.unified_attention 0.33.0 fits: …".
std::string kernel_sentence(const KernelFit& fit);

/// The same with the first of its reasons alone, the gravest.
std::string kernel_headline(const KernelFit& fit);

/// The worst of them, of equal ones the first; null where there are none.
const KernelFit* worst_fit(const std::vector<KernelFit>& fits);

/// Would one of these kernels refuse the layout, or silently corrupt it?
bool harms_kernel(const std::vector<KernelFit>& fits);

/// Would one of these kernels silently corrupt the layout?
bool corrupts_kernel(const std::vector<KernelFit>& fits);

}  // namespace hybridkv
