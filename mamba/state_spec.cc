#include "mamba/state_spec.h"

namespace hybridkv {

StateSpec place_state_tensors(std::vector<StateTensor> tensors, const StatePlacement& placement) {
  StateSpec spec;
  spec.bytes = spec.padding_bytes = placement.first_byte;
  const std::size_t first = placement.recurrent_first ? 1 : 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    StateTensor& tensor = tensors[(first + i) % tensors.size()];
    tensor.layout = row_major(tensor.layout.axes());
    tensor.byte_offset = round_up(spec.bytes, checked_lcm(element_bytes(tensor.dtype), placement.alignment));
    spec.padding_bytes += tensor.byte_offset - spec.bytes;
    spec.bytes = Checked(tensor.byte_offset) + tensor.bytes();
  }
  spec.tensors = std::move(tensors);
  return spec;
}

StateSpec place_state_tensors_apart(std::vector<StateTensor> tensors) {
  StateSpec spec;
  for (StateTensor& tensor : tensors) {
    tensor.layout = row_major(tensor.layout.axes());
    tensor.byte_offset = 0;
    spec.bytes = Checked(spec.bytes) + tensor.bytes();
  }
  spec.tensors = std::move(tensors);
  return spec;
}

}  // namespace hybridkv
