#include "planner/cache_plan.h"

#include "layout/scale.h"

namespace hybridkv {

Layout ViewPlan::elements() const {
  const std::optional<Layout> whole = unscale(bytes, element_bytes(dtype));
  expects(whole.has_value(), "a view of the plan lies on whole elements");
  return *whole;
}

}  // namespace hybridkv
