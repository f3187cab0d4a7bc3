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
    if (PyLong_Check(object)) return scalar(std::move(node), shown(value, PyObject_Str));
    if (PyDict_Check(object)) return mapping(std::move(node), nb::borrow<nb::dict>(value), depth);
    if (PyList_Check(object) || PyTuple_Check(object)) {
      node.kind = YamlNode::Kind::list;
      for (const nb::handle item : value) node.items.push_back(this->node(item, depth + 1));
      return node;
    }
    // Numbers and arrays of NumPy and the like, then configs; what else has a text is worth its text.
    for (const char* const plain : {"tolist", "to_dict"})
      if (!PyType_Check(object) && nb::hasattr(value, plain)) return this->node(value.attr(plain)(), depth + 1);
    if (const nb::object whole = nb::steal(PyIndex_Check(object) ? PyNumber_Index(object) : nullptr); whole.is_valid())
      return scalar(std::move(node), shown(whole, PyObject_Str));
    PyErr_Clear();
    return scalar(std::move(node), shown(value, PyObject_Str));
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
    return shown(value, PyObject_Repr);
  }

  YamlNode mapping(YamlNode node, const nb::dict& entries, std::int64_t depth) {
    node.kind = YamlNode::Kind::mapping;
    node.entries.reserve(entries.size());
    for (const auto& [key, value] : entries) {
      if (!PyUnicode_Check(key.ptr())) throw error_at(place_, shown(key, PyObject_Repr) + " is no key");
      node.entries.push_back({text_of(key), this->node(value, depth + 1)});
    }
    return node;
  }

  const Place& place_;
  std::int64_t values_ = 0;
};

}  // namespace

bool is_text(nb::handle value) {
  return PyUnicode_Check(value.ptr()) || (!PyType_Check(value.ptr()) && nb::hasattr(value, "__fspath__"));
}

std::string text_of(nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) {
    const nb::object path = value.attr("__fspath__")();
    if (!PyUnicode_Check(path.ptr())) throw InputError(shown(path, PyObject_Repr) + " is no path; give a str");
    return text_of(path);
  }
  Py_ssize_t length = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
  if (characters == nullptr) PyErr_Clear();
  const std::string text(characters == nullptr ? "" : characters, static_cast<std::size_t>(length));
  if (characters == nullptr || text.find('\0') != std::string::npos)
    throw InputError(shown(value, PyObject_Repr) + " is no text: it has a zero in it, or what UTF-8 has no letter for");
  return text;
}

std::string shown(nb::handle value, PyObject* (*text)(PyObject*)) {
  const nb::object made = nb::steal(text(value.ptr()));
  const nb::object bytes = nb::steal(
      made.is_valid() ? PyUnicode_AsEncodedString(made.ptr(), "utf-8", "backslashreplace") : nullptr);
  if (bytes.is_valid()) return nb::borrow<nb::bytes>(bytes).c_str();
  PyErr_Clear();
  return std::string("<") + nb::inst_name(value).c_str() + ">";
}

void unquote(YamlNode& node) {
  node.quoted = false;
  for (YamlNode& item : node.items) unquote(item);
  for (YamlEntry& entry : node.entries) unquote(entry.value);
}

YamlNode tree_of(nb::handle value, const Place& place) { return Reader(place).node(value, 0); }

}  // namespace hybridkv
