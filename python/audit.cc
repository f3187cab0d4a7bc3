#include "python/audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "base/error.h"
#include "layout/disjointness.h"
#include "layout/injectivity.h"
#include "python/watched.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Numbers = std::vector<std::int64_t>;

/// One tensor as an engine allocated it. Strides and offset in elements.
struct EngineTensor {
  std::string name;
  Numbers shape;
  Numbers strides;
  std::int64_t offset = 0;
  std::int64_t element_bytes = 1;
  std::string storage;             ///< tensors of different storages have nothing in common
  std::int64_t storage_bytes = 0;
  std::int64_t group = 0;          ///< layers of a group live in the same blocks, those of two never
  std::int64_t block_axis = 0;     ///< -1: it has none, all of it lives at once
};

/// Names of axes by position; layouts are told apart by their own.
AxisName axis_name(std::size_t position) { return AxisName(std::string_view(fmt::format("axis {}", position))); }

Layout layout_of(const EngineTensor& tensor) {
  if (tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > Layout::max_rank)
    throw InputError(fmt::format("{}: shape and strides must have the same length, at most {}", tensor.name,
                                 Layout::max_rank));
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0 || tensor.strides[i] < 0)
      throw InputError(fmt::format("{}: extents and strides must not be negative", tensor.name));
    axes.push_back({axis_name(i), tensor.shape[i], tensor.strides[i]});
  }
  if (tensor.offset < 0) throw InputError(fmt::format("{}: its offset must not be negative", tensor.name));
  return Layout(axes, tensor.offset);
}

/// The tensor in bytes of its storage, from one block to another one (excluded), `step` kernel blocks a block.
PlacedLayout part_of(const EngineTensor& tensor, std::int64_t begin, std::int64_t end) {
  EngineTensor part = tensor;
  const auto axis = static_cast<std::size_t>(tensor.block_axis);
  part.shape[axis] = end - begin;
  part.offset += begin * part.strides[axis];
  return {layout_of(part), tensor.element_bytes, 0};
}

std::string element(const EngineTensor& tensor, const Numbers& index) {
  return fmt::format("{}[{}]", tensor.name, fmt::join(index, ", "));
}

/// The first fault of a tensor by itself; nothing without one.
std::optional<std::string> fault_of(const EngineTensor& tensor) {
  const PlacedLayout placed{layout_of(tensor), tensor.element_bytes, 0};
  if (!contains(tensor.storage_bytes, placed)) {
    const ByteExtent extent = byte_extent(placed);
    return fmt::format("{} reaches outside of storage {}: its last element ends at byte {} of {}", tensor.name,
                       tensor.storage, extent.end, tensor.storage_bytes);
  }
  const Injectivity own = check_injective(placed.layout);
  if (own.answer == Answer::yes) return std::nullopt;
  if (own.answer == Answer::unknown)
    return fmt::format("{}: too many elements to prove that no two are one", tensor.name);
  return fmt::format("{} aliases itself: {} and {} are one element, at offset {} of storage {}", tensor.name,
                     element(tensor, own.collision->first), element(tensor, own.collision->second),
                     own.collision->offset, tensor.storage);
}

std::optional<std::string> overlap_of(const EngineTensor& a, const PlacedLayout& in_a, std::int64_t first_of_a,
                                      const EngineTensor& b, const PlacedLayout& in_b, std::int64_t first_of_b) {
  const PlacedLayout both[] = {in_a, in_b};
  const Disjointness found = check_disjoint(both);
  if (found.answer == Answer::yes) return std::nullopt;
  if (found.answer == Answer::unknown)
    return fmt::format("{} and {}: too many elements to prove that they have none in common", a.name, b.name);
  Numbers at = found.overlap->first_index, other = found.overlap->second_index;
  if (a.block_axis >= 0) at[static_cast<std::size_t>(a.block_axis)] += first_of_a;
  if (b.block_axis >= 0) other[static_cast<std::size_t>(b.block_axis)] += first_of_b;
  return fmt::format("{} and {} overlap: {} and {} both have byte {} of storage {}", a.name, b.name, element(a, at),
                     element(b, other), found.overlap->byte_address, a.storage);
}

/// Tensors of two groups may have a block's bytes in common, as one of them has it at a time; never those of two
/// blocks. Which blocks they are does not matter, only how far they are apart: so one block of either is compared with
/// all later ones of the other.
std::optional<std::string> overlap_of_groups(const EngineTensor& a, const EngineTensor& b) {
  const auto axis = [](const EngineTensor& tensor) { return static_cast<std::size_t>(tensor.block_axis); };
  const auto blocks = [&](const EngineTensor& tensor) { return tensor.shape[axis(tensor)]; };
  const auto stride = [&](const EngineTensor& tensor) { return tensor.strides[axis(tensor)] * tensor.element_bytes; };
  const std::int64_t count = std::min(blocks(a), blocks(b));
  if (count < 1) return std::nullopt;
  const std::int64_t in_a = blocks(a) / count, in_b = blocks(b) / count;  // kernel blocks of a block
  if (in_a * count != blocks(a) || in_b * count != blocks(b) || in_a * stride(a) != in_b * stride(b))
    return fmt::format("{} and {} share storage {} but not its blocks: {} blocks of {} bytes against {} of {}", a.name,
                       b.name, a.storage, blocks(a), stride(a), blocks(b), stride(b));
  if (auto found = overlap_of(a, part_of(a, 0, in_a), 0, b, part_of(b, in_b, blocks(b)), in_b)) return found;
  return overlap_of(a, part_of(a, in_a, blocks(a)), in_a, b, part_of(b, 0, in_b), 0);
}

std::optional<std::string> overlap_of(const EngineTensor& a, const EngineTensor& b) {
  if (a.storage != b.storage) return std::nullopt;
  if (a.group != b.group && a.block_axis >= 0 && b.block_axis >= 0) return overlap_of_groups(a, b);
  return overlap_of(a, {layout_of(a), a.element_bytes, 0}, 0, b, {layout_of(b), b.element_bytes, 0}, 0);
}

/// Every fault of a tensor by itself, and where there is none every pair that overlaps; a sentence each.
std::vector<std::string> audit(const std::vector<EngineTensor>& tensors, const nb::object& progress) {
  return watched(progress, [tensors](const Watch& to) {
    std::vector<std::string> faults;
    const auto add = [&](const std::optional<std::string>& fault) {
      if (fault) faults.push_back(*fault);
    };
    for (const EngineTensor& tensor : tensors) {
      if (tensor.block_axis >= std::ssize(tensor.shape))
        throw InputError(fmt::format("{}: has no axis {} for its blocks", tensor.name, tensor.block_axis));
      add(fault_of(tensor));
    }
    if (!faults.empty()) return faults;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      to.at("tensors", static_cast<std::int64_t>(i), std::ssize(tensors));
      for (std::size_t j = i + 1; j < tensors.size(); ++j) add(overlap_of(tensors[i], tensors[j]));
    }
    return faults;
  });
}

}  // namespace

void register_audit(nb::module_& module) {
  nb::class_<EngineTensor>(module, "EngineTensor")
      .def(nb::init<>())
      .def_rw("name", &EngineTensor::name)
      .def_rw("shape", &EngineTensor::shape)
      .def_rw("strides", &EngineTensor::strides)
      .def_rw("offset", &EngineTensor::offset)
      .def_rw("element_bytes", &EngineTensor::element_bytes)
      .def_rw("storage", &EngineTensor::storage)
      .def_rw("storage_bytes", &EngineTensor::storage_bytes)
      .def_rw("group", &EngineTensor::group)
      .def_rw("block_axis", &EngineTensor::block_axis);
  module.def("audit", audit, nb::arg("tensors"), nb::arg("progress").none());
}

}  // namespace hybridkv
