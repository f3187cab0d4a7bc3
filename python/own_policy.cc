#include "python/own_policy.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/error.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// A thread that Python knows from its first question on: else it would get a state of its own anew for each. It goes
/// on without the lock, so that this is nothing for a thread that has it.
class KnownThread {
 public:
  KnownThread() : lock_(PyGILState_Ensure()), state_(PyEval_SaveThread()) {}
  ~KnownThread() {
    PyEval_RestoreThread(state_);
    PyGILState_Release(lock_);
  }
  KnownThread(const KnownThread&) = delete;
  KnownThread& operator=(const KnownThread&) = delete;

 private:
  PyGILState_STATE lock_;
  PyThreadState* state_;
};

void make_known() { thread_local const KnownThread known; }

/// An object that several threads may hold, and that goes with the lock.
using SharedObject = std::shared_ptr<nb::object>;

SharedObject shared(nb::object object) {
  return SharedObject(new nb::object(std::move(object)), [](nb::object* held) {
    const nb::gil_scoped_acquire locked;
    delete held;
  });
}

class PythonPolicy final : public PrefixPolicy {
 public:
  PythonPolicy(const nb::object& maker, std::string name) : name_(std::move(name)) {
    const nb::object made = maker();
    if (!nb::hasattr(made, "rank"))
      throw InputError(fmt::format("policy: {} makes an object without rank(prefix)", name_));
    asked_->rank = made.attr("rank");
    const auto add = [&](const char* method, nb::object& to) {
      if (nb::hasattr(made, method)) to = made.attr(method);
    };
    add("keeps", asked_->keeps);
    add("used", asked_->used);
    add("went", asked_->went);
    asked_->prefix = nb::cast(&facts_, nb::rv_policy::reference);
  }
  ~PythonPolicy() override {
    const nb::gil_scoped_acquire locked;
    asked_.reset();
  }
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;

  double rank(const PrefixFacts& facts) override {
    make_known();
    const nb::gil_scoped_acquire locked;
    const double rank = PyFloat_AsDouble(answer(asked_->rank, facts).ptr());
    if (rank == -1 && PyErr_Occurred()) throw nb::python_error();
    if (std::isnan(rank))
      throw InputError(fmt::format("policy: {}.rank is not a number for a prefix of {} tokens", name_, facts.tokens));
    return rank;
  }
  bool keeps(const PrefixFacts& facts) override {
    if (!asked_->keeps.is_valid()) return true;
    make_known();
    const nb::gil_scoped_acquire locked;
    const int truth = PyObject_IsTrue(answer(asked_->keeps, facts).ptr());
    if (truth < 0) throw nb::python_error();
    return truth != 0;
  }
  void used(const PrefixFacts& facts) override { tell(asked_->used, facts); }
  void went(const PrefixFacts& facts) override { tell(asked_->went, facts); }

 private:
  struct Asked {
    nb::object rank, keeps, used, went, prefix;
  };

  /// Pre: with Python's lock.
  nb::object answer(const nb::object& method, const PrefixFacts& facts) {
    facts_ = facts;
    return method(asked_->prefix);
  }
  void tell(const nb::object& method, const PrefixFacts& facts) {
    if (!method.is_valid()) return;
    make_known();
    const nb::gil_scoped_acquire locked;
    answer(method, facts);
  }

  std::string name_;
  PrefixFacts facts_;  // of the prefix that is asked about: one object of Python stands for all of them
  std::unique_ptr<Asked> asked_ = std::make_unique<Asked>();
};

std::string name_of(const nb::object& maker) {
  if (nb::hasattr(maker, "__qualname__")) return nb::cast<std::string>(maker.attr("__qualname__"));
  return nb::cast<std::string>(nb::str(maker.type().attr("__qualname__")));
}

}  // namespace

std::shared_ptr<const OwnPolicy> policy_of_python(const nb::object& maker) {
  if (!PyCallable_Check(maker.ptr()))
    throw InputError("policy: is no class, nor a function that makes a policy; give the class itself");
  std::string name = name_of(maker);
  const SharedObject held = shared(maker);
  return std::make_shared<OwnPolicy>(OwnPolicy{name, [held, name]() -> std::unique_ptr<PrefixPolicy> {
                                                 make_known();
                                                 const nb::gil_scoped_acquire locked;
                                                 return std::make_unique<PythonPolicy>(*held, name);
                                               }});
}

void register_prefix(nb::module_& module) {
  nb::class_<PrefixFacts>(module, "Prefix")
      .def_ro("id", &PrefixFacts::id)
      .def_ro("tokens", &PrefixFacts::tokens)
      .def_ro("saved_tokens", &PrefixFacts::saved_tokens)
      .def_ro("memory_tokens", &PrefixFacts::memory_tokens)
      .def_ro("uses", &PrefixFacts::uses)
      .def_ro("turn", &PrefixFacts::turn)
      .def_ro("prompt_tokens", &PrefixFacts::prompt_tokens)
      .def_ro("branches", &PrefixFacts::branches)
      .def_ro("longer", &PrefixFacts::longer)
      .def_ro("made", &PrefixFacts::made)
      .def_prop_ro("last_use", [](const PrefixFacts& facts) { return static_cast<std::int64_t>(facts.since); })
      .def_ro("now", &PrefixFacts::now);
}

}  // namespace hybridkv
