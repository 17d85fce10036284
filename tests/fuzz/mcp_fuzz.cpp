// SPDX-License-Identifier: MIT
//
// Lines of a client of the Model Context Protocol: every line becomes a message or an error that
// can be answered, and arguments of a tool become a command line in which nothing of the client's
// is an option. What a command answered is cut into pages that are small.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/folder.h"
#include "fuzz/must.h"
#include "mcp/message.h"
#include "mcp/page.h"
#include "mcp/tool.h"

namespace {

using namespace rochound;
using namespace rochound::mcp;
using fuzz::Must;

bool IsOptionOf(const Tool& tool, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (name == "--output" || name == "--json") return true;  // where answers go
  for (const std::string& fixed : tool.fixed)
    if (word == fixed) return true;
  for (const Parameter& parameter : tool.parameters)
    if (name == parameter.option) return true;
  return false;
}

void MakeCall(const Json& params) {
  static const std::vector<Tool> tools = MakeTools({"findings", "top"}, true);
  static const Folders folders = Folders::Open({fuzz::Folder()}).value();
  const auto arguments = params.find("arguments");
  if (arguments == params.end() || !arguments->is_object()) return;
  for (const Tool& tool : tools) {
    const auto made = MakeInvocation(tool, *arguments, folders, "/scratch");
    if (!made.ok()) {
      Must(!made.error().message.empty());
      continue;
    }
    for (const std::string& word : made.value().arguments) {
      Must(word.find('\0') == std::string::npos);
      if (word == "--") break;
      if (word.starts_with("-")) Must(IsOptionOf(tool, word));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  LineSplitter splitter;
  splitter.Take({reinterpret_cast<const char*>(data), size}, [](const std::string* line) {
    if (line == nullptr) return;
    const Message message = ParseMessage(*line);
    if (message.kind == Message::Kind::kInvalid) {
      Must(message.code != 0);
      const std::string answer = ErrorLine(message.id, message.code, message.problem);
      Must(answer.find('\n') == std::string::npos && Json::accept(answer));
      return;
    }
    if (message.kind == Message::Kind::kRequest) Must(IsToken(message.id));
    if (!message.params.is_object()) return;
    MakeCall(message.params);
    size_t offset = 0;
    for (int pages = 0; pages < 1000 && (pages == 0 || offset != 0); ++pages) {
      const Page page = CutPage(message.params, offset, 2);
      Must(page.content.dump().size() <= kMostPage);
      Must(page.next == 0 || page.next > offset);
      offset = page.next;
    }
  });
  return 0;
}
