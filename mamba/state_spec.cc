#include "mamba/state_spec.h"

namespace hybridkv {

StateSpec place_state_tensors(std::vector<StateTensor> tensors) {
  StateSpec spec;
  for (StateTensor& tensor : tensors) {
    tensor.layout = row_major(tensor.layout.axes());
    tensor.byte_offset = round_up(spec.bytes, element_bytes(tensor.dtype));
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
