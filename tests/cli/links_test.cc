// The links of the documents lead somewhere, and their index leads to each of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

const fs::path checkout = HYBRIDKV_SOURCE_DIR;

/// The lines of a document that are no part of a block of code, where brackets are no links and # no headings.
std::vector<std::string> lines_of_prose(const fs::path& document) {
  std::vector<std::string> lines;
  bool inside = false;
  std::istringstream text(text_of(document));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) inside = !inside;
    else if (!inside) lines.push_back(line);
  }
  return lines;
}

/// Where the links and pictures of a document lead, those of the web apart.
std::vector<std::string> links_of(const fs::path& document) {
  static const std::regex code("`[^`]*`"), link("\\]\\(([^)]*)\\)");
  std::vector<std::string> links;
  for (const std::string& line : lines_of_prose(document)) {
    const std::string text = std::regex_replace(line, code, "");
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found)
      if (const std::string target = (*found)[1]; !target.starts_with("https://")) links.push_back(target);
  }
  return links;
}

/// The anchor that GitHub gives a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char letter : heading.substr(heading.find_first_not_of("# "))) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == ' ') anchor += '-';
    else if (std::isalnum(byte) || letter == '-' || letter == '_' || byte >= 128)
      anchor += static_cast<char>(std::tolower(byte));
  }
  return anchor;
}

bool leads_somewhere(const fs::path& document, const std::string& link) {
  const std::size_t hash = link.find('#');
  const std::string file = link.substr(0, hash);
  const fs::path target = file.empty() ? document : document.parent_path() / file;
  if (link.empty() || !fs::exists(target)) return false;
  if (hash == std::string::npos) return true;
  const std::vector<std::string> lines = lines_of_prose(target);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.starts_with("#") && anchor_of(line) == link.substr(hash + 1);
  });
}

std::set<fs::path> documents() {
  std::set<fs::path> pages{checkout / "README.md", checkout / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(checkout / "docs"))
    if (entry.path().extension() == ".md") pages.insert(entry.path());
  return pages;
}

}  // namespace

TEST_CASE("law: every link of the documents leads to a file, and to a heading of it") {
  std::size_t count = 0;
  for (const fs::path& document : documents()) {
    CAPTURE(document.string());
    for (const std::string& link : links_of(document)) {
      CAPTURE(link);
      CHECK(leads_somewhere(document, link));
      ++count;
    }
  }
  CHECK(count > 50);
}

TEST_CASE("law: the index of the documents leads to each of them") {
  const fs::path index = checkout / "docs" / "README.md";
  std::set<fs::path> linked{index, checkout / "README.md"};
  for (const std::string& link : links_of(index))
    linked.insert((index.parent_path() / link.substr(0, link.find('#'))).lexically_normal());
  CHECK(linked == documents());
}

TEST_CASE("fault: a link that leads nowhere is found") {
  const ScratchFolder folder;
  const fs::path page = folder.file("page.md", "# llama.cpp 0.5, `a` & b\n[there](page.md) `[code](none.md)`\n"
                                               "```\n[code](none.md)\n# No heading\n```\n[gone](none.md#a)\n");
  CHECK(links_of(page) == std::vector<std::string>{"page.md", "none.md#a"});
  for (const char* link : {"page.md", "#llamacpp-05-a--b", "page.md#llamacpp-05-a--b"})
    CHECK(leads_somewhere(page, link));
  for (const char* link : {"", "none.md", "none.md#a", "#no-heading", "page.md#other"})
    CHECK_FALSE(leads_somewhere(page, link));
}
