#pragma once

namespace hybridkv {

/// Makes the process behave whatever it was started with, before anything is opened or printed:
/// a standard stream that is closed gets a descriptor on which every read or write fails, so that no file takes its
/// place and gets what was meant for it; a closed pipe (SIGPIPE) and a limit of file sizes (SIGXFSZ) become errors of
/// the write; a signal that ends the program removes unfinished files first (base/unfinished.h).
void prepare_process();

}  // namespace hybridkv
