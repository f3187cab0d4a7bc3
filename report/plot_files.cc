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

std::vector<std::filesystem::path> draw_plots(std::span<const Plot> plots, const PictureSpec& picture,
                                              const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder))
    throw InputError(fmt::format("{}: is no folder and cannot be made one: {}", folder.string(), error.message()));
  std::vector<std::filesystem::path> files;
  std::string scripts;
  for (const Plot& plot : plots) {
    for (std::size_t i = 0; i < plot.tables.size(); ++i) {
      files.push_back(folder / data_file_name(plot, i));
      write_file(files.back(), tab_separated(plot.tables[i].table));
    }
    files.push_back(folder / (plot.name + ".gp"));
    write_file(files.back(), gnuplot_script(plot, picture));
    files.push_back(folder / fmt::format("{}.{}", plot.name, to_string(picture.format)));
    scripts += " " + plot.name + ".gp";
  }
  const std::string by_hand = fmt::format("; data and scripts are in {}: there, `gnuplot{}` draws them", folder.string(), scripts);
  for (const Plot& plot : plots) {
    const std::filesystem::path drawn = folder / fmt::format("{}.{}", plot.name, to_string(picture.format));
    int code = 0;
    try {
      code = run_in(folder, {"gnuplot", plot.name + ".gp"});
    } catch (const ProgramError& missing) {
      throw ProgramError(fmt::format("{}; install it (Debian: gnuplot-nox){}", missing.what(), by_hand));
    }
    if (code != 0 || !std::filesystem::exists(drawn))
      throw ProgramError(fmt::format("gnuplot could not draw {} (exit code {}), see its message above{}", plot.name, code, by_hand));
    if (picture.format == PictureFormat::pdf) fix_pdf_date(drawn);
  }
  return files;
}

void fix_pdf_date(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::string key = "/CreationDate (D:";
  const std::size_t start = content.find(key);
  if (start == std::string::npos) return;
  const std::string date = "20000101000000";
  if (start + key.size() + date.size() <= content.size()) content.replace(start + key.size(), date.size(), date);
  write_file(path, content);
}

}  // namespace hybridkv
