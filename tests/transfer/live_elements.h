#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "planner/view_places.h"
#include "transfer/transfer_map.h"

/// What a side holds of a request, element by element, by the views of its plans alone: the other way to the same
/// answer as the lists of copies.
namespace hybridkv::testing {

/// Which number of the model and request an element is: kind and layer, tensor and section, then places in it.
using Coordinate = std::vector<std::int64_t>;

struct ByteAddress {
  std::int64_t rank = 0, pool = 0, byte = 0;
  auto operator<=>(const ByteAddress&) const = default;
};

struct LiveElement {
  ByteAddress at;
  std::int64_t bytes = 0;
  Coordinate what;
  DType dtype = DType::fp32;
};

/// The part of the model that a rank's local one is, by the rule that ranks share neighbours evenly or repeat one.
inline std::int64_t global_part(std::int64_t parts, std::int64_t ranks, std::int64_t rank, std::int64_t local) {
  if (parts >= ranks) return rank * (parts / ranks) + local;
  return rank * parts / ranks;
}

class LiveElements {
 public:
  LiveElements(const TransferSide& side, const RequestTables& tables, std::int64_t first_token, std::int64_t tokens,
               const std::map<std::pair<bool, std::int64_t>, std::int64_t>& live_tokens)
      : side_(side), first_(first_token), tokens_(tokens), live_(live_tokens) {
    for (std::size_t stage = 0; stage < side.stages.size(); ++stage) {
      const CachePlan& plan = side.stages[stage];
      const std::vector<ViewPlace> places = view_places(plan);
      for (std::size_t i = 0; i < plan.views.size(); ++i)
        for (std::int64_t rank = 0; rank < side.tensor_parallel; ++rank) {
          rank_ = rank;
          global_rank_ = static_cast<std::int64_t>(stage) * side.tensor_parallel + rank;
          const SpecPlan& spec = plan.specs[plan.views[i].spec];
          const auto& ids = tables.ids[stage][static_cast<std::size_t>(places[i].table)];
          if (spec.attention)
            add_attention(plan.views[i], spec, ids);
          else
            add_state(plan.views[i], spec, ids);
        }
    }
    std::sort(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  }

  std::vector<LiveElement> elements;  ///< by address

 private:
  void add(const ViewPlan& view, std::int64_t byte, Coordinate what) {
    elements.push_back({{global_rank_, view.pool, byte}, element_bytes(view.dtype), std::move(what),
                        view.dtype});
  }

  void add_attention(const ViewPlan& view, const SpecPlan& spec, const std::vector<std::int64_t>& ids) {
    const AttentionGeometry& attention = *spec.attention;
    const KeyValueLayouts layouts =
        key_value_layouts(attention.form, view.bytes, attention.head_size_k, attention.head_size_v);
    const AttentionSpec& whole = *side_.sets[static_cast<std::size_t>(view.spec)].attention;
    const std::int64_t heads = is_latent(whole.kind) ? 1 : whole.kv_heads;
    const std::int64_t block = spec.block_size_tokens, kernel = spec.kernel_block_size_tokens;
    const std::int64_t live = live_.at({spec.draft, view.layer});
    for (std::int64_t token = std::max(first_, tokens_ - live); token < tokens_; ++token) {
      const std::int64_t id = ids[static_cast<std::size_t>(token / block)];
      const std::int64_t kernel_block = id * (block / kernel) + token % block / kernel;
      for (int part = 0; part < (attention.form == BackendForm::mla ? 1 : 2); ++part) {
        const Layout& layout = part == 0 ? layouts.key : layouts.value;
        for (std::int64_t head = 0; head < layout.extent("head"); ++head)
          for (std::int64_t channel = 0; channel < layout.extent("channel"); ++channel)
            add(view, layout.at({kernel_block, token % block % kernel, head, channel}),
                {0, spec.draft, view.layer, part, token, global_part(heads, side_.tensor_parallel, rank_, head),
                 channel});
      }
    }
  }

  /// Section, part of the model and channel in it of a rank's channel.
  Coordinate channel_of(const RecurrentSpec& layer, std::int64_t channel) const {
    std::int64_t section = 0;
    for (const ChannelSection& of : sections_of(layer)) {
      const std::int64_t parts = std::max<std::int64_t>(1, of.parts / side_.tensor_parallel);
      if (channel < parts * of.channels)
        return {section, global_part(of.parts, side_.tensor_parallel, rank_, channel / of.channels),
                channel % of.channels};
      channel -= parts * of.channels;
      ++section;
    }
    return {};
  }

  void add_state(const ViewPlan& view, const SpecPlan& spec, const std::vector<std::int64_t>& ids) {
    const auto tensor = std::find_if(spec.state->tensors.begin(), spec.state->tensors.end(),
                                     [&](const StateTensor& one) { return one.name == view.tensor; });
    const RecurrentSpec& layer = *side_.sets[static_cast<std::size_t>(view.spec)].recurrent;
    const StateSpec whole = state_of(layer, {});
    std::vector<std::int64_t> index(static_cast<std::size_t>(tensor->layout.rank()));
    const std::int64_t id = ids[static_cast<std::size_t>(view.piece)];
    const bool in_pieces = view.bytes.find("element") >= 0;
    const std::int64_t of_view = in_pieces ? view.bytes.extent("element") : tensor->layout.num_elements();
    for (std::int64_t i = view.first_element; i < view.first_element + of_view; ++i) {
      std::int64_t rest = i;
      for (int axis = tensor->layout.rank(); axis-- > 0;) {
        index[static_cast<std::size_t>(axis)] = rest % tensor->layout[axis].extent;
        rest /= tensor->layout[axis].extent;
      }
      Coordinate what{1, spec.draft, view.layer, view.tensor == "conv"};
      if (view.tensor == "conv") {
        const auto of_axis = [&](AxisName name) { return index[static_cast<std::size_t>(tensor->layout.find(name))]; };
        if (of_axis("step") >= whole.tensors.front().layout.extent("step")) continue;
        what.push_back(of_axis("step"));
        for (const std::int64_t number : channel_of(layer, of_axis("channel"))) what.push_back(number);
      } else {
        what.push_back(global_part(whole.tensors.back().layout[0].extent, side_.tensor_parallel, rank_, index[0]));
        what.insert(what.end(), index.begin() + 1, index.end());
      }
      std::int64_t byte = 0;
      if (in_pieces) {
        byte = view.bytes.at({id, i - view.first_element});
      } else {
        std::vector<std::int64_t> at{id};
        at.insert(at.end(), index.begin(), index.end());
        byte = view.bytes.at(at);
      }
      add(view, byte, std::move(what));
    }
  }

  const TransferSide& side_;
  std::int64_t first_, tokens_;
  const std::map<std::pair<bool, std::int64_t>, std::int64_t>& live_;
  std::int64_t rank_ = 0, global_rank_ = 0;
};

}  // namespace hybridkv::testing
