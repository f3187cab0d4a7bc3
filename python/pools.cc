#include "python/pools.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "base/resident_budget.h"
#include "layout/for_each_index.h"
#include "python/plans.h"
#include "verify/layout/bound_view.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Numbers = std::vector<std::int64_t>;

/// The pools of one plan, of which only touched pages take memory.
class SharedPools {
 public:
  /// Throws ResourceError where all of them, touched from end to end, would not fit in memory, unless that is wanted.
  SharedPools(const Plans& plans, std::size_t index, bool beyond_memory)
      : set_(plans.set), plan_(set_->plans.at(index)), pools_(checked(plan_, beyond_memory)) {}
  SharedPools(const SharedPools&) = delete;
  SharedPools& operator=(const SharedPools&) = delete;

  const CachePlan& plan() const { return plan_; }
  const PoolSet& pools() const { return pools_; }
  std::size_t count() const { return plan_.pools.size(); }

 private:
  static const CachePlan& checked(const CachePlan& plan, bool beyond_memory) {
    require_views(plan);
    std::int64_t needed = 0;
    for (const PoolPlan& pool : plan.pools) needed += pool.bytes;
    const std::int64_t free = free_memory_bytes();
    if (needed > free && !beyond_memory)
      throw ResourceError(fmt::format("the pools take {} bytes ({}), and {} are free here; take fewer blocks, "
                                      "pools(num_blocks=…), or pools(beyond_memory=True) where only parts of them are "
                                      "touched",
                                      needed, human_bytes(needed), human_bytes(free)));
    return plan;
  }

  std::shared_ptr<const PlanSet> set_;
  const CachePlan& plan_;
  PoolSet pools_;
};

nb::dlpack::dtype dlpack_type(const std::string& name) {
  const DType dtype = parse_dtype(name).value();
  const auto type = [&](nb::dlpack::dtype_code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * element_bytes(dtype)), 1};
  };
  switch (dtype) {
    case DType::bf16: return type(nb::dlpack::dtype_code::Bfloat);
    case DType::fp8_e4m3: return type(nb::dlpack::dtype_code::Float8_E4M3FN);
    case DType::fp8_e5m2: return type(nb::dlpack::dtype_code::Float8_E5M2);
    case DType::int8: return type(nb::dlpack::dtype_code::Int);
    case DType::uint8: return type(nb::dlpack::dtype_code::UInt);
    default: return type(nb::dlpack::dtype_code::Float);
  }
}

/// Memory at an address as a tensor with strides in elements, which other frameworks take without a copy. `owner` keeps
/// the memory.
nb::ndarray<nb::array_api> tensor_at(std::uintptr_t address, const Numbers& shape, const Numbers& strides,
                                     const std::string& dtype, nb::object owner) {
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  return nb::ndarray<nb::array_api>(reinterpret_cast<void*>(address), extents.size(), extents.data(), owner,
                                    strides.data(), dlpack_type(dtype));
}

/// A tensor of a layer as verify addresses it: K and V by block, token, head and channel, states by their own axes.
struct Reference {
  const SharedPools* pools = nullptr;
  TensorView tensor;

  Numbers shape() const {
    Numbers extents;
    for (const Axis& axis : tensor.layout.axes()) extents.push_back(axis.extent);
    return extents;
  }
  /// Element after element, the last axis fastest.
  template <class Visit>
  void each(Visit&& visit) const {
    std::size_t i = 0;
    for_each_index(tensor.layout,
                   [&](std::span<const std::int64_t> index, std::int64_t) { visit(tensor.address(index), i++); });
  }
  nb::ndarray<nb::numpy, float> read() const {
    auto* const values = new std::vector<float>(static_cast<std::size_t>(tensor.layout.num_elements()));
    nb::capsule owner(values, [](void* held) noexcept { delete static_cast<std::vector<float>*>(held); });
    each([&](const std::byte* address, std::size_t i) { (*values)[i] = load_element(address, tensor.dtype); });
    const std::vector<std::size_t> extents = [this] {
      const Numbers numbers = shape();
      return std::vector<std::size_t>(numbers.begin(), numbers.end());
    }();
    return nb::ndarray<nb::numpy, float>(values->data(), extents.size(), extents.data(), owner);
  }
  void write(const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& values) const {
    if (static_cast<std::int64_t>(values.size()) != tensor.layout.num_elements())
      throw InputError(fmt::format("{} values for {} elements", values.size(), tensor.layout.num_elements()));
    each([&](std::byte* address, std::size_t i) { store_element(address, tensor.dtype, values.data()[i]); });
  }
};

/// `what`: "key", "value", or a tensor of a state.
Reference reference_of(const SharedPools& pools, std::int64_t spec, std::int64_t layer, const std::string& what) {
  const bool is_kv = what == "key" || what == "value";
  const std::vector<BoundView> views = bind_views(pools.plan());
  const auto view = std::find_if(views.begin(), views.end(), [&](const BoundView& each) {
    return each.view.spec == spec && each.view.layer == layer && each.view.tensor == (is_kv ? "kv" : what);
  });
  if (view == views.end()) throw InputError(fmt::format("layer {} has no {}", layer, what));
  if (!is_kv) return {&pools, pools.pools().tensor(*view, view->address)};
  const AttentionGeometry& attention = *pools.plan().specs[static_cast<std::size_t>(spec)].attention;
  const KeyValueLayouts layouts = key_value_bytes(*view, attention);
  return {&pools, pools.pools().tensor(*view, what == "key" ? layouts.key : layouts.value)};
}

}  // namespace

void register_pools(nb::module_& module) {
  nb::class_<SharedPools>(module, "Pools")
      .def(nb::init<const Plans&, std::size_t, bool>())
      .def("__len__", &SharedPools::count)
      .def("address",
           [](const SharedPools& pools, std::size_t i) {
             return reinterpret_cast<std::uintptr_t>(pools.pools().pool(static_cast<std::int64_t>(i)).data());
           })
      .def("size", [](const SharedPools& pools, std::size_t i) { return pools.plan().pools.at(i).bytes; })
      .def_prop_ro("reserved_bytes", [](const SharedPools& pools) { return pools.pools().reserved_bytes(); })
      .def_prop_ro("resident_bytes", [](const SharedPools& pools) { return pools.pools().resident_bytes(); })
      .def("reader", reference_of, nb::keep_alive<0, 1>());
  nb::class_<Reference>(module, "Reference")
      .def_prop_ro("shape", &Reference::shape)
      .def("read", &Reference::read)
      .def("write", &Reference::write);
  module.def("tensor_at", tensor_at);
}

}  // namespace hybridkv
