// A browser starts no programs: whoever wants one (base/byte_source.cc: zstd) is told so, as where it is not installed.

#ifdef __EMSCRIPTEN__

#include <spawn.h>

#include <cerrno>

extern "C" int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                            char* const[], char* const[]) {
  return ENOSYS;
}

#endif
