#include "python/tree.h"

#include <nanobind/stl/string.h>

#include <cmath>

#include "base/error.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

class Reader {
 public:
  explicit Reader(const Place& place) : place_(place) {}

  YamlNode node(nb::handle value, std::int64_t depth) {
    if (++values_ > most_values || depth > deepest_nesting)
      throw error_at(place_, "holds more values, or deeper ones, than a scenario can have");
    YamlNode node;
    node.place = node.key_place = place_;
    PyObject* const object = value.ptr();
    if (value.is_none()) return node;
    if (PyBool_Check(object)) return scalar(std::move(node), object == Py_True ? "true" : "false");
    if (is_text(value)) {
      node.quoted = true;
      return scalar(std::move(node), text_of(value));
    }
    if (PyFloat_Check(object)) return scalar(std::move(node), real(PyFloat_AsDouble(object), value));
    if (PyIndex_Check(object)) {  // NumPy's integers too
      const nb::object integer = nb::steal(PyNumber_Index(object));
      if (!integer.is_valid()) throw nb::python_error();
      return scalar(std::move(node), nb::str(integer).c_str());
    }
    if (PyDict_Check(object)) return mapping(std::move(node), nb::borrow<nb::dict>(value), depth);
    if (PyList_Check(object) || PyTuple_Check(object)) {
      node.kind = YamlNode::Kind::list;
      for (const nb::handle item : value) node.items.push_back(this->node(item, depth + 1));
      return node;
    }
    if (nb::hasattr(value, "to_dict")) return this->node(value.attr("to_dict")(), depth + 1);
    return scalar(std::move(node), nb::str(value).c_str());
  }

 private:
  static YamlNode scalar(YamlNode node, std::string text) {
    node.kind = YamlNode::Kind::scalar;
    node.text = std::move(text);
    return node;
  }

  /// A whole number is written as one: 4e9 of a calculation is a size like any other.
  static std::string real(double number, nb::handle value) {
    constexpr double exact = 9007199254740992;  // 2^53
    if (std::abs(number) < exact && number == std::floor(number)) return std::to_string(static_cast<long long>(number));
    return nb::repr(value).c_str();
  }

  YamlNode mapping(YamlNode node, const nb::dict& entries, std::int64_t depth) {
    node.kind = YamlNode::Kind::mapping;
    node.entries.reserve(entries.size());
    for (const auto& [key, value] : entries) {
      if (!PyUnicode_Check(key.ptr())) throw error_at(place_, std::string(nb::repr(key).c_str()) + " is no key");
      node.entries.push_back({nb::cast<std::string>(key), this->node(value, depth + 1)});
    }
    return node;
  }

  const Place& place_;
  std::int64_t values_ = 0;
};

}  // namespace

bool is_text(nb::handle value) { return PyUnicode_Check(value.ptr()) || nb::hasattr(value, "__fspath__"); }

std::string text_of(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  return nb::cast<std::string>(value.attr("__fspath__")());
}

void unquote(YamlNode& node) {
  node.quoted = false;
  for (YamlNode& item : node.items) unquote(item);
  for (YamlEntry& entry : node.entries) unquote(entry.value);
}

YamlNode tree_of(nb::handle value, const Place& place) { return Reader(place).node(value, 0); }

}  // namespace hybridkv
