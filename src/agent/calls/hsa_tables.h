// SPDX-License-Identifier: MIT
//
// The HSA runtime's tables of functions, in the order of our headers. A runtime of another release
// may have them in another order, with functions that we do not know between ours and after them,
// and more tables. By HSA's contract a table begins with its version and its size, and a release
// with the same major version has only added functions at the end. Where the runtime exports the
// functions that we know, each one's code says where its entry is, and that is what counts; what is
// not clear is left alone. Set-up only, one thread at a time.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <string>
#include <vector>

namespace rochound::agent {

class HsaTables {
 public:
  // Copies the runtime's tables. False: where the functions of its two main tables are is not
  // clear; nothing was changed.
  bool Read(HsaApiTable* theirs);

  // The copy, for hooks. Entries that this runtime does not have are null.
  HsaApiTable* ours() { return &ours_.root; }

  // Puts what was changed in the copy into the runtime's tables, and counts the calls of functions
  // that we do not know (new_functions.h).
  void WriteBack();

  // The library that the tables are in, for whoever wants to name it; empty: in none.
  const std::string& library() const { return library_; }

 private:
  struct Entry {
    void** ours;
    void** theirs;
    void* before;
  };
  struct Unknown {
    char* table;
    size_t offset;
    const char* name;
  };
  class Reader;

  HsaApiTableContainer ours_;
  std::vector<Entry> entries_;
  std::vector<Unknown> unknown_;
  std::string library_;
};

}  // namespace rochound::agent
