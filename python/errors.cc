#include "python/errors.h"

#include <exception>
#include <string>
#include <system_error>

#include "base/error.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// What was given may be no UTF-8, and messages repeat it.
nb::object text(const std::string& value) {
  return nb::steal(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

/// Sets the exception of that name; `arguments` as its class takes them.
template <class... Arguments>
void raise(const char* name, const Arguments&... arguments) {
  const nb::object type = nb::module_::import_("hybridkv._errors").attr(name);
  const nb::object error = type(text(arguments)...);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise("InputError", error.what(), error.place(), error.problem());
  } catch (const ResourceError& error) {
    raise("ResourceError", error.what());
  } catch (const ProgramError& error) {
    raise("ProgramError", error.what());
  } catch (const std::system_error& error) {
    raise("ResourceError", std::string("the system refuses: ") + error.what());
  }
}

}  // namespace

void register_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace hybridkv
