#include "report/spec_json.h"

#include "mamba/recurrent_spec.h"
#include "planner/layer_specs.h"

namespace hybridkv {

std::vector<std::string> layer_kinds() {
  std::vector<std::string> kinds = names_of(attention_kind_names);
  for_each_family([&](const RecurrentSpec& family) { kinds.emplace_back(family_name(family)); });
  kinds.push_back(LayerSet{.ring = RingSpec{}}.kind());
  return kinds;
}

}  // namespace hybridkv
