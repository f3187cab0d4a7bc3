#pragma once

#include "layout/scale.h"
#include "planner/cache_plan.h"
#include "report/plan/layout_json.h"

namespace hybridkv {

template <class Archive, Is<ViewPlan> T>
void fields(Archive& archive, T& view) {
  archive.named("view", "One tensor of one layer inside its pool.");
  archive("spec", view.spec, "Id of the spec.");
  archive("layer", view.layer, "Layer number.");
  archive("tensor", view.tensor, "kv, conv or ssm.");
  archive("pool", view.pool, "Position in pools.");
  archive("dtype", view.dtype, "Element type.");
  Layout elements;
  if constexpr (!Archive::reads) elements = view.elements();
  layout_fields(archive, elements, false);
  if constexpr (Archive::reads) {
    try {
      view.bytes = scale(elements, element_bytes(view.dtype));
    } catch (const InputError& error) {  // the extent of the layout passes 64 bits
      JsonReader::fail(archive.path(), error.what());
    }
  }
  archive.derived("strides_bytes", [&view] {
    std::vector<std::int64_t> strides;
    for (const Axis& axis : view.bytes.axes()) strides.push_back(axis.stride);
    return strides;
  }, "The strides in bytes.");
  archive.derived("offset_bytes", [&view] { return view.bytes.offset(); }, "The offset in bytes.");
  archive.unless("lane", view.lane.value, view.pool,
                 "Position among the lanes of all arenas; default: that of the pool.");
  archive.unless_default("piece", view.piece, "Which of the ids of a table entry its block axis counts; default 0.");
  archive.unless_default("first_element", view.first_element,
                         "Of a tensor that lies in several pieces, the element at which this one begins; default 0.");
}

}  // namespace hybridkv
