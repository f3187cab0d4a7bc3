#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// How a kernel comes to a stride that it does not take from its arguments.
enum class StrideRule {
  extents,    ///< a factor times the product of the extents of some axes
  next,       ///< the extent times the stride of one axis
  stride_of,  ///< the stride of the same axis of another view
  unknown,    ///< none of these
};

inline constexpr auto stride_rule_names = std::to_array<Named<StrideRule>>(
    {{StrideRule::extents, "extents"},
     {StrideRule::next, "next"},
     {StrideRule::stride_of, "stride_of"},
     {StrideRule::unknown, "unknown"}});

/// A stride that a kernel computes; with any other it is silently wrong.
struct DerivedStride {
  std::string axis;
  StrideRule rule = StrideRule::unknown;
  std::vector<std::string> extents;  ///< axes: of rule extents all, of rule next one
  std::int64_t factor = 1;           ///< of rule extents
  std::string stride_of;             ///< of that rule: the view
};

/// What a kernel does with the strides of one view.
struct CardView {
  std::string name;                   ///< "k", "v", "state", "slots"
  std::vector<std::string> axes;      ///< outermost first
  std::vector<DerivedStride> derives;
  std::vector<std::string> refuses;   ///< axes where a stride that is not the dense one ends in an error
  std::vector<std::string> narrow;    ///< axes whose product of id and stride it computes in 32 bits
};

/// What checks found of a kernel, hybridkv.testing of the Python package: hybridkv-kernel-card/1.
struct KernelCard {
  std::string name, package, version;  ///< the last two empty where unknown
  std::string check;               ///< "attention", "write", "state", "slots"
  std::string family;              ///< of a state: "gdn", "mamba2", …, "conv"
  std::string home;                ///< the dense layout that passed; empty: none did, and nothing else is known
  std::string answer;              ///< one sentence
  std::string ran;                 ///< "torch in Triton's interpreter"
  std::vector<CardView> views;
  std::optional<bool> stale_safe;  ///< NaN in slots that no token was written to changes nothing
  /// "vllm.unified_attention 0.33.0".
  std::string title() const;
};

/// Reads a card. Throws InputError with the file, the key and what is allowed there.
KernelCard read_kernel_card(const std::string& file);

/// The same of a text, with the name that messages call it by.
KernelCard parse_kernel_card(const std::string& text, const std::string& name);

/// Reads all of them, in their order. Throws as read_kernel_card.
std::vector<KernelCard> read_kernel_cards(const std::vector<std::string>& files);

}  // namespace hybridkv
