#include "mamba/state_view.h"

#include <cstring>

#include "base/convert.h"
#include "layout/for_each_run.h"

namespace hybridkv {

namespace {

/// Calls visit(first byte, bytes) for every stretch of neighbouring elements, in logical order.
template <class Visit>
void for_each_stretch(const TensorView& tensor, Visit&& visit) {
  if (tensor.base == nullptr) return;
  const std::int64_t element = element_bytes(tensor.dtype);
  for_each_run(tensor.layout, [&](std::int64_t offset, std::int64_t count) {
    visit(tensor.base + offset * element, static_cast<std::size_t>(count * element));
  });
}

}  // namespace

std::vector<std::byte> saved_state(const StateView& state) {
  std::vector<std::byte> bytes;
  for (const TensorView* tensor : {&state.conv, &state.ssm})
    for_each_stretch(*tensor, [&](const std::byte* from, std::size_t count) {
      bytes.insert(bytes.end(), from, from + count);
    });
  return bytes;
}

void restore(const StateView& state, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  for (const TensorView* tensor : {&state.conv, &state.ssm})
    for_each_stretch(*tensor, [&](std::byte* to, std::size_t count) {
      expects(done + count <= bytes.size(), "a snapshot has the bytes of the state it is put back into");
      std::memcpy(to, bytes.data() + done, count);
      done += count;
    });
  expects(done == bytes.size(), "a snapshot has the bytes of the state it is put back into");
}

void copy_state(const StateView& from, const StateView& to) { restore(to, saved_state(from)); }

void zero_state(const StateView& state) {
  for (const TensorView* tensor : {&state.conv, &state.ssm})
    for_each_stretch(*tensor, [](std::byte* to, std::size_t count) { std::memset(to, 0, count); });
}

std::vector<float> load_tensor(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.layout.num_elements()));
  const std::int64_t element = element_bytes(tensor.dtype);
  std::size_t done = 0;
  for_each_stretch(tensor, [&](const std::byte* from, std::size_t bytes) {
    const std::size_t count = bytes / static_cast<std::size_t>(element);
    load_elements(from, tensor.dtype, std::span(values).subspan(done, count));
    done += count;
  });
  return values;
}

void store_tensor(const TensorView& tensor, std::span<const float> values) {
  expects(static_cast<std::int64_t>(values.size()) == tensor.layout.num_elements(), "one value per element");
  const std::int64_t element = element_bytes(tensor.dtype);
  std::size_t done = 0;
  for_each_stretch(tensor, [&](std::byte* to, std::size_t bytes) {
    const std::size_t count = bytes / static_cast<std::size_t>(element);
    store_elements(to, tensor.dtype, values.subspan(done, count));
    done += count;
  });
}

}  // namespace hybridkv
