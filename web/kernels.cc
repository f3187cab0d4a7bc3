#include "web/kernels.h"

#include "base/error.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::vector<KernelCard> asked_kernels(const Json& question) {
  std::vector<std::string> files;
  const auto found = question.find("kernels");
  if (found == question.end()) return {};
  if (!found->is_array()) throw InputError("kernels: must be a list of files");
  for (const Json& file : *found) {
    if (!file.is_string()) throw InputError("kernels: must be a list of files");
    files.push_back(file.get<std::string>());
  }
  return read_kernel_cards(files);
}

std::string card_answer(const Json& question) {
  const KernelCard card = read_kernel_card(text_of(question, "path"));
  return Json{{"kernel", card.title()}, {"answer", card.answer}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hybridkv
