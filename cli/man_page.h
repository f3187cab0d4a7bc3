#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace hybridkv {

/// "hybridkv-plan", of the program itself "hybridkv": what `man` finds the page by.
std::string man_page_name(const CLI::App& app);

/// The manual page of the program or of a command in the language of man(7), with all that its help says. It has no
/// date, so that the same sources make the same page.
std::string man_page(const CLI::App& app);

}  // namespace hybridkv
