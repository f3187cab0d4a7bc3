#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "planner/kernel_verdict.h"

namespace hybridkv {

/// Adds --kernels, which means the same wherever a layout is planned: the cards are read by read_kernel_cards.
void add_kernels_option(CLI::App& command, std::vector<std::string>& files);

/// The option as it is typed again, behind a blank; empty where no card was given.
std::string kernel_words(const std::vector<std::string>& files);

/// The exit code of an answer about a layout that would otherwise be fine: 1 where a kernel would silently corrupt it.
int exit_of_kernels(const std::vector<KernelFit>& fits);

}  // namespace hybridkv
