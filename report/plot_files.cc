#include "report/plot_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "layout/error.h"
#include "report/plot_names.h"

namespace hybridkv {

int run_in(const std::filesystem::path& folder, const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // Standard output belongs to the command's own result.
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  ::pid_t process = 0;
  const int error = ::posix_spawnp(&process, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw ProgramError(fmt::format("the program {} cannot be started: {}", command.front(), std::strerror(error)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status))
    throw ProgramError(fmt::format("the program {} was ended by signal {}", command.front(), WTERMSIG(status)));
  return WEXITSTATUS(status);
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  if (!file.flush()) throw ResourceError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string picture_name(const Plot& plot, PictureFormat format) {
  return fmt::format("{}.{}", plot.name, to_string(format));
}

/// Everything but the pictures that a program has to draw.
std::vector<std::filesystem::path> write_sources(std::span<const Plot> plots, const PictureSpec& picture,
                                                 const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  const auto write = [&](const std::string& name, const std::string& content) {
    files.push_back(folder / name);
    write_file(files.back(), content);
  };
  for (const Plot& plot : plots) {
    for (std::size_t i = 0; i < plot.tables.size(); ++i)
      write(data_file_name(plot, i), tab_separated(plot.tables[i].table));
    if (plot.svg)
      write(picture_name(plot, PictureFormat::svg), plot.svg(picture.width));
    else
      write(plot.name + ".gp", gnuplot_script(plot, picture));
    if (!plot.svg || picture.format != PictureFormat::svg) files.push_back(folder / picture_name(plot, picture.format));
  }
  return files;
}

/// A program that draws, its Debian package, and what the user has without it.
struct DrawingProgram {
  const char* name;
  const char* package;
  std::string left;
};

void draw(const DrawingProgram& program, const std::vector<std::string>& arguments,
          const std::filesystem::path& picture) {
  std::vector<std::string> command{program.name};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int code = 0;
  try {
    code = run_in(picture.parent_path(), command);
  } catch (const ProgramError& missing) {
    throw ProgramError(fmt::format("{}; install it (Debian: {}); {}", missing.what(), program.package, program.left));
  }
  if (code != 0 || !std::filesystem::exists(picture))
    throw ProgramError(fmt::format("{} could not draw {} (exit code {}), see its message above; {}", program.name,
                                   picture.string(), code, program.left));
}

}  // namespace

std::vector<std::filesystem::path> draw_plots(std::span<const Plot> plots, const PictureSpec& picture,
                                              const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder))
    throw InputError(fmt::format("{}: is no folder and cannot be made one: {}", folder.string(), error.message()));
  const std::vector<std::filesystem::path> files = write_sources(plots, picture, folder);
  std::string scripts;
  for (const Plot& plot : plots)
    if (!plot.svg) scripts += " " + plot.name + ".gp";
  const DrawingProgram gnuplot{
      "gnuplot", "gnuplot-nox",
      fmt::format("data and scripts are in {}: there, `gnuplot{}` draws them", folder.string(), scripts)};
  const DrawingProgram converter{"rsvg-convert", "librsvg2-bin",
                                 fmt::format("data, scripts and SVG pictures are in {}", folder.string())};
  for (const Plot& plot : plots) {
    const std::filesystem::path drawn = folder / picture_name(plot, picture.format);
    if (!plot.svg)
      draw(gnuplot, {plot.name + ".gp"}, drawn);
    else if (picture.format != PictureFormat::svg)
      draw(converter,
           {"--format", std::string(to_string(picture.format)), "--output", drawn.filename().string(),
            picture_name(plot, PictureFormat::svg)},
           drawn);
    if (!plot.svg && picture.format == PictureFormat::svg) write_file(drawn, with_names(plot, content_of(drawn)));
    if (picture.format == PictureFormat::pdf) fix_pdf_date(drawn);
  }
  return files;
}

void fix_pdf_date(const std::filesystem::path& path) {
  std::string content = content_of(path);
  const std::string key = "/CreationDate (D:";
  const std::size_t start = content.find(key);
  if (start == std::string::npos) return;
  const std::string date = "20000101000000";
  if (start + key.size() + date.size() <= content.size()) content.replace(start + key.size(), date.size(), date);
  write_file(path, content);
}

}  // namespace hybridkv
