// SPDX-License-Identifier: MIT
//
// The code objects that a program has loaded. Where they were is written into the log, for who
// compares kernels of different builds (docs/formats/flight-log.md). Their bytes are kept while a
// launch is to be captured or a kernel may be swapped: the program may free its copy once it is
// loaded. Hooks run on the program's threads; any thread may ask.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::agent {

struct LoadedCode {
  std::shared_ptr<const std::vector<std::byte>> object;  // null: it is not in memory any more
  uint64_t base = 0;                                     // of the loaded image
  uint64_t size = 0;
  uint64_t delta = 0;  // loaded address - ELF address
  std::string uri;
  uint64_t storage = 0;  // where the runtime read the object
  uint64_t storage_size = 0;
};

void HookCodeObjects(CoreApiTable* core);

// A kernel of this executable was seen for the first time, and its records say `number`: the log's
// file `code_objects` gets a line about it. WriteCodeObjects writes the file if there are new lines;
// the drain thread and the end of the log call it.
void AddCodeObject(uint32_t number, hsa_executable_t executable);
void WriteCodeObjects();

// The executable, and the code object, whose image has this address; false: none.
bool FindExecutable(uint64_t address, hsa_executable_t* executable);
bool FindLoadedCode(uint64_t address, LoadedCode* found);

// The size of a kernel's arguments. `told` is the runtime's word, that is the descriptor's, which
// assembled kernels such as rocBLAS's leave 0; then the code object's metadata are asked.
uint64_t KernargBytes(const LoadedCode& code, std::string_view symbol, uint64_t told);

// Where the images of all loaded code objects are.
std::map<uint64_t, uint64_t> LoadedImages();  // sizes

// As long as one lives no executable goes away: the thread that would destroy it waits. For whoever
// reads the images of code objects or asks the runtime about an executable. Taken before
// HeldAllocations, where both are needed.
class HeldCode {
 public:
  HeldCode();
  ~HeldCode();
  HeldCode(const HeldCode&) = delete;
  HeldCode& operator=(const HeldCode&) = delete;
};

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetCodeObjectsAfterFork();

}  // namespace rochound::agent
