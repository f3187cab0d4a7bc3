#include "base/error.h"

#include <doctest/doctest.h>

#include <type_traits>

namespace hybridkv {
namespace {

TEST_CASE("edge: a spec error names the field and keeps its parts") {
  const SpecError error("engine.tensor_parallel", "3 ranks cannot share 16 heads");
  CHECK(std::string(error.what()) == "engine.tensor_parallel: 3 ranks cannot share 16 heads");
  CHECK(error.path() == "engine.tensor_parallel");
  CHECK(error.message() == "3 ranks cannot share 16 heads");
}

TEST_CASE("law: what a user can cause is an Error, a broken precondition is not") {
  static_assert(std::is_base_of_v<InputError, SpecError> && std::is_base_of_v<Error, ResourceError>);
  static_assert(!std::is_base_of_v<InputError, ResourceError> && !std::is_base_of_v<Error, std::logic_error>);
  CHECK_NOTHROW(expects(true, "never seen"));
  CHECK_THROWS_WITH_AS(expects(false, "x > 0"), "precondition broken: x > 0", std::logic_error);
}

}  // namespace
}  // namespace hybridkv
