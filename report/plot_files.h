#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/plot.h"
#include "report/plot_gnuplot.h"

namespace hybridkv {

/// Runs a program, found as a shell finds it, in a folder; what it says goes to our standard error.
/// Returns its exit code. Throws ProgramError where it cannot be started or is ended by a signal.
int run_in(const std::filesystem::path& folder, const std::vector<std::string>& command);

/// Writes a file whole. Throws ResourceError with the path and the reason.
void write_file(const std::filesystem::path& path, const std::string& content);

/// Writes data and script of every plot into the folder, which is made where it is missing, then draws them with
/// gnuplot. What gnuplot cannot draw is written as SVG at once and turned into another format by rsvg-convert. Returns
/// the files written, in order: data, script and picture of each plot. Throws ProgramError where gnuplot or
/// rsvg-convert is missing or fails: data, scripts and such SVGs are there all the same, and the message says so.
std::vector<std::filesystem::path> draw_plots(std::span<const Plot> plots, const PictureSpec& picture,
                                              const std::filesystem::path& folder);

/// A PDF always names the moment it was made; replaced by one and the same, so that equal plots are equal files.
void fix_pdf_date(const std::filesystem::path& path);

}  // namespace hybridkv
