// What the page's worker calls: Emscripten exports it by name (cmake/Page.cmake).

#include <string>

#include "web/answers.h"

/// The answer to a question, both JSON; valid until the next call.
extern "C" const char* hybridkv_answer(const char* question) {
  static std::string answer;
  answer = hybridkv::page_answer(question);
  return answer.c_str();
}
