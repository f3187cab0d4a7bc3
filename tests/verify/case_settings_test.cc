// case.json of an attention case, read strictly.
#include "verify/case_settings.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

CaseSettings read(const ScratchFolder& folder, const std::string& text) {
  return read_case_settings(folder.file("case.json", text));
}

}  // namespace

TEST_CASE("edge: every key, and none") {
  const ScratchFolder folder;
  const CaseSettings none = read_case_settings(folder.path / "case.json");
  CHECK(!none.scale);
  CHECK(none.mask == KeyMask{});
  const CaseSettings all = read(folder, R"({"scale": 0.5, "is_decode": [true, false], "dtype": "bf16", "soft_cap": 30,
    "mask": "sliding_window", "window_tokens": 128, "block_size": 16, "num_blocks": 4, "num_heads": 8,
    "num_kv_heads": 2, "head_size": 64, "query_lens": [1, 2], "context_lens": [0, 3], "layer": 3, "name": "x",
    "all_prompt_partition": {"a": 1}, "decode_cached_partition": {"a": 1}, "chunked_bias_bytes": {}})");
  CHECK(all.scale == 0.5);
  CHECK(all.is_decode == std::vector<bool>{true, false});
  CHECK(all.dtype == DType::bf16);
  CHECK(all.soft_cap == 30);
  CHECK(all.mask == KeyMask{MaskKind::sliding_window, 128});
  CHECK(all.query_lens == std::vector<std::int64_t>{1, 2});
  CHECK_NOTHROW(all.check_size("block_size", 16));
  CHECK_THROWS_WITH_AS(all.check_size("head_size", 65),
                       doctest::Contains("case.json: head_size: 64, but the tensors have 65"), InputError);
}

TEST_CASE("edge: unknown and repeated keys, wrong types, fractions and numbers out of range: one message each") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text, const std::string& message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(read(folder, text), doctest::Contains(("case.json: " + message).c_str()), InputError);
  };
  refused(R"({"scael": 1})", "unknown key \"scael\"; known are scale, is_decode,");
  refused(R"({"scale": 1, "scale": 2})", "the key \"scale\" stands twice");
  refused(R"({"chunked_bias_bytes": {"a": [{"b": 1, "b": 1}]}})", "the key \"b\" stands twice");
  refused(R"({"scale": "wide"})", "scale: \"wide\", where a number is expected");
  for (const char* number : {"1e308", "-1", "0", "-0.0", "1000001"})
    refused(std::string("{\"scale\": ") + number + "}", "scale: ");
  refused(R"({"scale": 1e999})", "number overflow parsing '1e999'");
  refused(R"({"soft_cap": 1e308})", "soft_cap: 1e+308, where a number from 0 to 1e6 is expected");
  refused(R"({"soft_cap": -1})", "soft_cap: -1, where");
  refused(R"({"mask": "sliding_window", "window_tokens": 2.5})",
          "window_tokens: 2.5, where a whole number is expected");
  refused(R"({"mask": "sliding_window", "window_tokens": 2.0})",
          "window_tokens: 2.0, where a whole number is expected");
  refused(R"({"mask": "sliding_window", "window_tokens": 1e308})", "window_tokens: 1e+308, where a whole number");
  refused(R"({"mask": "sliding_window", "window_tokens": 0})",
          "window_tokens: 0, where a whole number from 1 to 2^63 - 1");
  refused(R"({"mask": "sliding_window", "window_tokens": 18446744073709551615})",
          "window_tokens: 18446744073709551615");
  refused(R"({"mask": "sliding_window"})", "window_tokens: is missing; the mask sliding_window needs it");
  refused(R"({"window_tokens": 4})", "window_tokens: goes with the masks");
  refused(R"({"mask": "half"})", "mask: \"half\", where one of full, sliding_window, chunked_local is expected");
  refused(R"({"dtype": "fp12"})", "dtype: \"fp12\", where one of fp32, fp16, bf16");
  refused(R"({"is_decode": [true, 1]})", "is_decode: [true,1], where a list of true and false is expected");
  refused(R"({"query_lens": [1, 2.5]})", "query_lens[1]: 2.5, where a whole number is expected");
  refused(R"({"context_lens": [-1]})", "context_lens[0]: -1, where a whole number from 0");
  refused(R"({"block_size": 16.5})", "block_size: 16.5, where a whole number is expected");
  refused("[1]", "is no JSON object");
  refused("{", "parse error at line 1, column 2");
  refused("", "parse error");
  refused("{\"name\": \"\xff\"}", "parse error");
}

TEST_CASE("edge: what is no file is refused by its kind") {
  const ScratchFolder folder;
  fs::create_directory(folder.path / "folder");
  fs::create_symlink("circle", folder.path / "circle");
  CHECK_THROWS_WITH_AS(read_case_settings(folder.path / "folder"), doctest::Contains("not a regular file"), InputError);
  CHECK_THROWS_WITH_AS(read_case_settings(folder.path / "circle"), doctest::Contains("circle: cannot be read"),
                       InputError);
  const fs::path large = folder.file("large", "{}");
  fs::resize_file(large, 17 << 20);
  CHECK_THROWS_WITH_AS(read_case_settings(large), doctest::Contains("is larger than 16 MiB"), InputError);
}
