// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader of Parquet folders: reading must end, in an error or with
// rows, never in a crash. The input is one table's file; its first byte chooses which table that
// is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > (1 << 16)) return 0;
  const auto tables = rochound::store::TraceTables();
  const auto folder = rochound::fuzz::Folder() / "trace.parquet";
  std::filesystem::remove_all(folder);
  const auto& table = tables[data[0] % tables.size()];
  std::filesystem::create_directories(folder / table.name);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  rochound::fuzz::Write((std::string("trace.parquet/") + table.name + "/all.parquet").c_str(),
                        input.substr(1));
  rochound::fuzz::Read(folder, input,
                       [](auto& connection, const auto& path, const std::string& schema) {
                         return rochound::store::AttachParquet(connection, path, schema);
                       });
  return 0;
}
