// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader of PyTorch's traces: reading must end, in an error or with
// rows, never in a crash. Bytes that look like gzip are inflated, all others are text. Every input
// is inflated, cut and parsed; some, which depend on their bytes, are also made tables of, a
// thousand times slower.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "fuzz/trace_reader.h"
#include "store/open/inflating_file.h"
#include "store/open/json_splitter.h"
#include "store/open/kineto_event.h"
#include "store/open/source_kineto.h"

namespace {

using namespace rochound::store;

constexpr size_t kMaxInput = 1 << 16;
constexpr size_t kInputsPerTable = 128;

void Parse(const std::filesystem::path& path) {
  auto file = InflatingFile::Open(path);
  if (!file.ok()) return;
  KinetoParser parser;
  KinetoEvent event;
  int64_t size[3];
  JsonSplitter splitter(
      [&](std::string_view object) {
        if (!parser.Parse(object, &event)) return;
        (void)event.Dimensions("grid", size);
        (void)event.Number("correlation");
      },
      [](std::string_view, std::string_view) {});
  while (true) {
    const auto piece = file.value().Next();
    if (!piece.ok() || piece.value().empty()) break;
    // In small pieces, as a large file would be cut somewhere.
    for (size_t at = 0; at < piece.value().size(); at += 100)
      splitter.Feed(piece.value().substr(at, 100));
  }
  splitter.End();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path path = rochound::fuzz::Write("trace.json", input);
  Parse(path);
  if (std::hash<std::string_view>()(input) % kInputsPerTable != 0) return 0;
  rochound::fuzz::Read(path, input,
                       [](auto& connection, const auto& file, const std::string& schema) {
                         return AttachKineto(connection, file, schema);
                       });
  return 0;
}
