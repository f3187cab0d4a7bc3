#include "transfer/held_tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "planner/view_places.h"

namespace hybridkv {

namespace {

TensorClass class_of(const SpecPlan& spec) {
  if (spec.ring_tokens > 0) return TensorClass::ring;
  if (spec.state) return TensorClass::state;
  switch (spec.attention->kind) {
    case AttentionKind::hidden_state: return TensorClass::hidden_state;
    case AttentionKind::indexer: return TensorClass::indexer;
    case AttentionKind::full:
    case AttentionKind::sliding_window:
    case AttentionKind::chunked_local:
    case AttentionKind::cross:
    case AttentionKind::mla: break;
  }
  return TensorClass::attention;
}

/// Does it hold what a request goes on from? Rings of draft inputs beside a state do not.
bool is_moved(const SpecPlan& spec, const ViewPlan& view) {
  return spec.attention || spec.ring_tokens > 0 || view.tensor == "conv" || view.tensor == "ssm";
}

}  // namespace

std::string tensor_label(const TensorKey& key) {
  return fmt::format("{}layer {} {}{}", key.draft ? "draft " : "", key.layer,
                     key.kind == TensorClass::indexer ? "indexer " : "", key.tensor);
}

const StateTensor& HeldTensor::state_tensor() const {
  const auto found = std::find_if(spec->state->tensors.begin(), spec->state->tensors.end(),
                                  [&](const StateTensor& tensor) { return tensor.name == key.tensor; });
  expects(found != spec->state->tensors.end(), "a view of a state is one of the tensors of its spec");
  return *found;
}

std::vector<HeldTensor> held_tensors(const TransferSide& side) {
  std::vector<HeldTensor> tensors;
  for (std::size_t stage = 0; stage < side.stages.size(); ++stage) {
    const CachePlan& plan = side.stages[stage];
    const std::vector<ViewPlace> places = view_places(plan);
    for (std::size_t i = 0; i < plan.views.size(); ++i) {
      const ViewPlan& view = plan.views[i];
      const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.spec)];
      if (!is_moved(spec, view)) continue;
      if (spec.is_cross())
        throw InputError(fmt::format("layer {}: K and V of an encoder's tokens are not moved, as the engine takes none "
                                     "from elsewhere; transfer a model without cross attention", view.layer));
      if (spec.tokens_per_entry > 1)
        throw InputError(fmt::format("layer {}: what its indexer keeps for {} tokens together is not moved; transfer a "
                                     "model without it", view.layer, spec.tokens_per_entry));
      const TensorKey key{class_of(spec), spec.draft, view.layer, view.tensor};
      if (view.piece > 0) {  // it goes on with the tensor before it, or begins a tensor behind one that ends in a piece
        HeldTensor* const begun = tensors.empty() || tensors.back().key != key ? nullptr : &tensors.back();
        if (begun != nullptr) {
          begun->pieces.push_back(&view);
          continue;
        }
      }
      tensors.push_back({key, static_cast<std::int64_t>(stage), places[i].table, &spec,
                         &side.sets[static_cast<std::size_t>(view.spec)], {&view}});
    }
  }
  return tensors;
}

std::vector<SharedParts> shared_parts(const HeldTensor& tensor) {
  if (tensor.is_by_token()) {
    const AttentionSpec& attention = *tensor.set->attention;
    return {{is_latent(attention.kind) ? 1 : attention.kv_heads, 1}};
  }
  if (!tensor.set->recurrent) return {{1, tensor.state_tensor().layout[0].extent}};
  const RecurrentSpec& layer = *tensor.set->recurrent;
  if (tensor.key.tensor == "conv") {
    std::vector<SharedParts> parts;
    for (const ChannelSection& section : sections_of(layer)) parts.push_back({section.parts, section.channels});
    return parts;
  }
  return {{state_of(layer, {}).tensors.back().layout[0].extent, 1}};
}

}  // namespace hybridkv
