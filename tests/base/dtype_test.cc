#include "base/dtype.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/convert.h"

namespace hybridkv {
namespace {

TEST_CASE("law: every element type has a name of its own, which is read back") {
  std::set<std::string_view> names;
  for (const DType dtype : all_dtypes) {
    names.insert(to_string(dtype));
    CHECK(parse_dtype(to_string(dtype)) == dtype);
  }
  CHECK(names.size() == std::size(all_dtypes));
  CHECK(to_string(DType::fp8_e4m3) == "fp8_e4m3");
}

TEST_CASE("law: the bytes of an element are those its stored form takes") {
  for (const DType dtype : all_dtypes)
    with_dtype(dtype, [&]<DType type>() { CHECK(element_bytes(dtype) == sizeof(CodeOf<type>)); });
  static_assert(element_bytes(DType::fp32) == 4 && element_bytes(DType::bf16) == 2 && element_bytes(DType::int8) == 1);
}

TEST_CASE("edge: other spellings that engines use, and texts that name no element type") {
  CHECK(parse_dtype("fp8") == DType::fp8_e4m3);
  CHECK(parse_dtype("float32") == DType::fp32);
  CHECK(parse_dtype("float16") == DType::fp16);
  CHECK(parse_dtype("bfloat16") == DType::bf16);
  for (const char* text : {"", "FP32", "bf16 ", "int4", "fp"}) CHECK_FALSE(parse_dtype(text));
}

}  // namespace
}  // namespace hybridkv
