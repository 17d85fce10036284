// SPDX-License-Identifier: MIT
//
// What the code of a process's kernels is: the hash of each code object's bytes, so that a kernel
// has one name wherever it runs and another once it is built anew. The log says where the loader
// found the bytes, and the hash of what may be gone from memory soon. The others are read where they
// were, from the file or from the process's memory, never with its help. The daemon owns one per
// process, on its one thread. Failure: bytes that cannot be read any more, are in a file that was
// changed since, are no ELF file, or are not the log's owner's to read, give an empty hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/daemon/code_store.h"
#include "fleet/daemon/file_version.h"
#include "trace/log_name.h"
#include "trace/open_file.h"

namespace rochound::fleet {

struct CodeOrigin {
  std::string path;  // empty: in the memory of `process`
  int64_t process = 0;
  uint64_t offset = 0;  // or address
  uint64_t size = 0;    // 0: to the end of the file
};
// A URI of the loader; nothing: another kind.
std::optional<CodeOrigin> ParseCodeUri(std::string_view uri);

class CodeObjects {
 public:
  explicit CodeObjects(std::filesystem::path log);

  // Keeps the bytes of code objects that it does not have yet. It outlives this object.
  void set_store(CodeStore* store) { store_ = store; }

  // 32 hexadecimal digits of the SHA-256 of the bytes of the code object with this number; empty:
  // not known.
  std::string Hash(uint32_t number);

 private:
  void Load();
  // `at_ns`: a file that was changed after that is another one.
  std::string ReadBytes(const CodeOrigin& origin, int64_t at_ns) const;
  int OpenMemory(pid_t process) const;

  // Line of the log's file about a code object.
  struct Line {
    std::string uri;
    std::string hash;   // by the recorder; empty: it left that to us
    int64_t at_ns = 0;  // when the line was there at the latest, CLOCK_REALTIME
  };

  std::filesystem::path log_;
  trace::LogName name_;
  trace::OpenFile open_;
  FileVersion version_;
  CodeStore* store_ = nullptr;
  std::map<uint32_t, Line> lines_;
  std::map<uint32_t, std::string> hashes_;
};

}  // namespace rochound::fleet
