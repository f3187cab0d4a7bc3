#include "base/shell_split.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/shell_word.h"

using namespace hybridkv;
using Words = std::vector<std::string>;

TEST_CASE("golden: words, quotes, comments, and lines that go on") {
  CHECK(shell_split("a  b\tc").size() == 3);
  CHECK(shell_split("x --config '{\"method\": \"mtp\"}'") == Words{"x", "--config", "{\"method\": \"mtp\"}"});
  CHECK(shell_split("a\\ b \"c $D \\\"e\\\"\" f''g") == Words{"a b", "c $D \"e\"", "fg"});
  CHECK(shell_split("serve \\\n  --tp 2  # two ranks\nnext") == Words{"serve", "--tp", "2", "\n", "next"});
  CHECK(shell_split("a && b; c") == Words{"a", "&&", "b", ";", "c"});
  CHECK(shell_split("--x=''") == Words{"--x="});
  CHECK(shell_split("''") == Words{""});
  CHECK(shell_split("").empty());
}

TEST_CASE("edge: a quote that is never closed, and a backslash at the end") {
  CHECK_THROWS_WITH_AS(shell_split("vllm serve 'x"), doctest::Contains("'x... is never closed"), InputError);
  CHECK(shell_split("a\\") == Words{"a"});
}

TEST_CASE("property: what shell_word quotes is read back") {
  for (const char* word : {"plain", "with space", "it's", "\"both\" 'kinds'", "a\\b", "$HOME", "#x", "a;b", "",
                           "new\nline"})
    CHECK(shell_split(shell_word(word)) == Words{word});
}
