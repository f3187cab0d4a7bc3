#include "ask/kernels/kernel_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "base/error.h"
#include "base/number_text.h"
#include "layout/layout.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

namespace {

/// One view as a kernel is given it: an axis each with its extent and its stride in elements.
struct KernelAxes {
  std::map<std::string, Axis, std::less<>> axes;
  const Axis* find(std::string_view name) const {
    const auto found = axes.find(name);
    return found == axes.end() ? nullptr : &found->second;
  }
};

/// The views of one layer by the names that cards have for them.
struct LayerViews {
  std::string layer;                       ///< "layer 3"
  std::map<std::string, KernelAxes> views; ///< "k" and "v", or "state"
};

KernelAxes axes_of(const Layout& bytes, std::int64_t element) {
  KernelAxes view;
  for (const Axis& axis : bytes.axes())
    view.axes.emplace(axis.name.view(), Axis{axis.name, axis.extent, axis.stride / element});
  return view;
}

/// Axes of a state as the card calls them: its own names where the plan has these, else one after the other.
KernelAxes state_axes(const Layout& bytes, std::int64_t element, const CardView& of) {
  KernelAxes named = axes_of(bytes, element), view;
  const bool same = std::all_of(of.axes.begin() + 1, of.axes.end(),
                                [&](const std::string& name) { return named.find(name) != nullptr; });
  if (std::ssize(of.axes) != bytes.rank()) return view;
  for (int i = 0; i < bytes.rank(); ++i) {
    const std::string& name = of.axes[static_cast<std::size_t>(i)];
    const std::string_view own = i == 0 ? "block" : same ? std::string_view(name) : bytes[i].name.view();
    if (const Axis* axis = named.find(own)) view.axes.emplace(name, *axis);
  }
  return view;
}

bool is_of_kind(const KernelCard& card, const SpecPlan& spec, const ViewPlan& view) {
  if (card.check == "attention" || card.check == "write")
    return spec.attention && !is_latent(spec.attention->kind) && !spec.is_indexer() && !spec.auxiliary;
  if (card.check != "state" || !spec.state || spec.ring_tokens > 0) return false;
  return card.family == "conv" ? view.tensor == "conv" : view.tensor == "ssm" && spec.kind == card.family;
}

std::vector<LayerViews> layers_for(const KernelCard& card, const CachePlan& plan) {
  std::vector<LayerViews> layers;
  for (const BoundView& view : bind_views(plan)) {
    const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.view.spec)];
    if (!is_of_kind(card, spec, view.view) || view.address.find("element") >= 0) continue;
    LayerViews layer{fmt::format("{}layer {}", spec.draft ? "draft " : "", view.view.layer), {}};
    if (spec.attention) {
      const KeyValueLayouts both = key_value_bytes(view, *spec.attention);
      layer.views["k"] = axes_of(both.key, view.element_bytes());
      layer.views["v"] = axes_of(both.value, view.element_bytes());
    } else if (!card.views.empty()) {
      layer.views["state"] = state_axes(view.address, view.element_bytes(), card.views.front());
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

/// The stride that a kernel derives; nothing where no rule says it, or a view lacks the axis.
std::optional<std::int64_t> derived_stride(const DerivedStride& derived, const KernelAxes& view,
                                           const LayerViews& layer) {
  switch (derived.rule) {
    case StrideRule::extents: {
      Checked stride = derived.factor;
      for (const std::string& name : derived.extents) {
        const Axis* axis = view.find(name);
        if (axis == nullptr) return std::nullopt;
        stride *= axis->extent;
      }
      return stride;
    }
    case StrideRule::next: {
      const Axis* axis = view.find(derived.extents.front());
      if (axis == nullptr) return std::nullopt;
      return Checked(axis->extent) * axis->stride;
    }
    case StrideRule::stride_of: {
      const auto other = layer.views.find(derived.stride_of);
      const Axis* axis = other == layer.views.end() ? nullptr : other->second.find(derived.axis);
      return axis == nullptr ? std::nullopt : std::optional(axis->stride);
    }
    case StrideRule::unknown: break;
  }
  return std::nullopt;
}

/// The stride of an axis in the dense layout that the card calls home: "nhd, apart" and "hnd, apart" have all of K
/// before V, "joined" K before V in each block, "joined by channel" in each row; of a state the axes from the outermost
/// on. Nothing for another home.
std::optional<std::int64_t> home_stride(const KernelCard& card, const KernelAxes& view, std::string_view of) {
  std::vector<std::string> order;
  const std::string_view home = card.home;
  if (home.starts_with("nhd, ")) order = {"block", "token", "head", "channel"};
  if (home.starts_with("hnd, ")) order = {"block", "head", "token", "channel"};
  if (card.check == "state" && !card.views.empty()) order = card.views.front().axes;
  const bool is_doubled = (home.ends_with(", joined") && of == "block") ||
                          (home.ends_with(", joined by channel") && of != "channel");
  Checked stride = is_doubled ? 2 : 1;
  for (auto name = order.rbegin(); name != order.rend(); ++name) {
    if (*name == of) return stride;
    const Axis* axis = view.find(*name);
    if (axis == nullptr) return std::nullopt;
    stride *= axis->extent;
  }
  return std::nullopt;
}

/// Collects what is wrong by the kind of it: the first layer with its numbers, and how many more.
class Findings {
 public:
  void add(KernelVerdict verdict, const std::string& what, const std::string& layer, const std::string& numbers) {
    Finding& finding = findings_[{verdict, what}];
    if (finding.count++ == 0) finding.text = fmt::format("{} of {}{}", what, layer, numbers);
  }
  void move_into(KernelFit& fit) const {
    for (auto at = findings_.rbegin(); at != findings_.rend(); ++at) {
      fit.verdict = std::max(fit.verdict, at->first.first);
      const std::int64_t more = at->second.count - 1;
      fit.reasons.push_back(at->second.text + (more == 0 ? "" : fmt::format("; {} more alike",
                                                                            human_plural(more, "layer"))));
    }
  }

 private:
  struct Finding {
    std::int64_t count = 0;
    std::string text;
  };
  std::map<std::pair<KernelVerdict, std::string>, Finding> findings_;
};

/// Does a stride matter? Not of an axis with one position.
bool is_walked(const Axis& axis) { return axis.extent > 1; }

void judge_view(const KernelCard& card, const CardView& of, const LayerViews& layer, Findings& findings) {
  const auto found = layer.views.find(of.name);
  if (found == layer.views.end()) return;
  const KernelAxes& view = found->second;
  for (const DerivedStride& derived : of.derives) {
    const Axis* axis = view.find(derived.axis);
    if (axis == nullptr || !is_walked(*axis)) continue;
    const std::string what = fmt::format("the stride of {}'s {}", of.name, derived.axis);
    const auto stride = derived_stride(derived, view, layer);
    if (!stride)
      findings.add(KernelVerdict::unknown, what, layer.layer, " is derived by a rule that is not known");
    else if (*stride != axis->stride)
      findings.add(KernelVerdict::corrupts, what, layer.layer,
                   fmt::format(" is {}, and it takes {} without asking", human_count(axis->stride),
                               human_count(*stride)));
  }
  for (const std::string& name : of.refuses) {
    const Axis* axis = view.find(name);
    if (axis == nullptr || !is_walked(*axis)) continue;
    const auto dense = home_stride(card, view, name);
    if (dense != axis->stride)
      findings.add(KernelVerdict::refuses, fmt::format("the stride of {}'s {}", of.name, name), layer.layer,
                   fmt::format(" is {}, which it does not take", human_count(axis->stride)));
  }
  for (const std::string& name : of.narrow) {
    constexpr std::int64_t most = (std::int64_t(1) << 31) - 1;
    const Axis* axis = view.find(name);
    if (axis == nullptr || !is_walked(*axis)) continue;
    const std::int64_t last = Checked(axis->extent - 1) * axis->stride;
    if (last > most)
      findings.add(KernelVerdict::corrupts, fmt::format("the offset of {}'s {}", of.name, name), layer.layer,
                   fmt::format(" reaches {} elements, and it counts in 32 bits", human_count(last)));
  }
}

}  // namespace

KernelFit kernel_fit(const KernelCard& card, const CachePlan& plan) {
  expects(!plan.views.empty(), "kernels are judged by views");
  KernelFit fit{card.title(), KernelVerdict::fits, {}};
  const std::vector<LayerViews> layers = layers_for(card, plan);
  if (layers.empty()) {
    fit.verdict = KernelVerdict::not_used;
    fit.reasons = {"no view of this plan is of its kind"};
    return fit;
  }
  if (card.home.empty()) {
    fit.verdict = KernelVerdict::unknown;
    fit.reasons = {"it was wrong on its dense layout, so nothing is known of another"};
    return fit;
  }
  Findings findings;
  for (const LayerViews& layer : layers)
    for (const CardView& view : card.views) judge_view(card, view, layer, findings);
  findings.move_into(fit);
  if (card.stale_safe == false) {
    fit.verdict = std::max(fit.verdict, KernelVerdict::stale);
    fit.reasons.emplace_back("NaN in slots that no token was written to gets into its result: blocks must be zeroed "
                             "before they are used again");
  }
  if (fit.verdict == KernelVerdict::fits)
    fit.reasons = {fmt::format("it takes or rightly derives every stride of {}, by {}",
                               human_plural(std::ssize(layers), "layer"), card.ran)};
  return fit;
}

std::vector<KernelFit> kernel_fits(const std::vector<KernelCard>& cards, const CachePlan& plan) {
  std::vector<KernelFit> fits;
  for (const KernelCard& card : cards)
    fits.push_back(plan.view_error.empty()
                       ? kernel_fit(card, plan)
                       : KernelFit{card.title(), KernelVerdict::unknown,
                                   {"the engine plans this cache, but makes no views of it: " + plan.view_error}});
  return fits;
}

void judge_kernels(const std::vector<KernelCard>& cards, CachePlan& plan) {
  plan.kernels = kernel_fits(cards, plan);
  for (const KernelFit& fit : plan.kernels)
    if (fit.verdict > KernelVerdict::not_used)
      plan.warnings.push_back({fmt::format("kernel_{}", to_string(fit.verdict)), kernel_sentence(fit)});
}

}  // namespace hybridkv
