#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "report/plot/plot.h"
#include "report/plot/plot_gnuplot.h"

namespace hybridkv {

/// What a program said on its standard output, and how it ended.
struct ProgramOutput {
  std::string text;
  int exit_code = 0;
};

/// Runs a program, found as a shell finds it, in a folder; what it says on standard error goes to ours.
/// Throws ProgramError where it cannot be started or is ended by a signal.
ProgramOutput run_in(const std::filesystem::path& folder, const std::vector<std::string>& command);

/// What draw_plots made.
struct DrawnPlots {
  std::vector<std::filesystem::path> files;  ///< written, in order: data, script and picture of each plot
  std::vector<std::string> pictures;         ///< (plot) what its picture holds; empty where it was not drawn
  std::string missing;                       ///< why pictures are missing; empty where none is
};

/// Writes data and script of every plot into the folder, which is made where it is missing, then draws them with
/// gnuplot, on all cores. What gnuplot cannot draw is written as SVG at once and turned into another format by
/// rsvg-convert. Where a program is missing or fails, data, scripts, such SVGs and all other pictures are there all the
/// same; the message is that of the first plot that it could not draw. Pictures come to us and are written as every
/// file is, whole or not at all: programs that draw do not tell of a full disk. `replaces`: what may be replaced.
/// Throws as OutputFolder, OutputFile and, before anything is written, as refuse_overwriting.
DrawnPlots draw_plots(std::span<const Plot> plots, const PictureSpec& picture, const std::filesystem::path& folder,
                      const Replaces& replaces);

}  // namespace hybridkv
