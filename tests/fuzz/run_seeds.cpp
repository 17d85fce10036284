// SPDX-License-Identifier: MIT
//
// main of the fuzzers where libFuzzer is not linked: so CI builds them, and the label fuzz-seeds
// feeds them what is kept. One thread; a fuzzer that finds something ends the process.
//
//   fuzz_NAME FOLDER...   the empty input and every file of these folders
//   fuzz_NAME             the empty input and some hundreds made by chance, the same each time
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "base/files.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

// For fuzzers with a mutator of their own, which is not called here.
size_t LLVMFuzzerMutate(uint8_t* /*data*/, size_t size, size_t /*most*/) { return size; }
}

namespace {

namespace fs = std::filesystem;

void Run(std::string_view input) {
  // Exactly as large, so that AddressSanitizer sees what is read beyond.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[input.size()]);
  if (!input.empty()) memcpy(bytes.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(bytes.get(), input.size());
}

// How many there are; -1: a folder has none, or one cannot be read.
int RunFolder(const fs::path& folder) {
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto seed = rochound::base::ReadFile(it->path());
    if (!seed.ok()) {
      fprintf(stderr, "%s\n", seed.error().message.c_str());
      return -1;
    }
    Run(seed.value());
    ++count;
  }
  if (!error && count > 0) return count;
  fprintf(stderr, "no seeds in '%s'\n", folder.c_str());
  return -1;
}

int RunRandom() {
  constexpr int kInputs = 400;
  std::mt19937 random(1);
  for (int i = 0; i < kInputs; ++i) {
    // Some fuzzers take short inputs only.
    std::string input(random() % (i % 2 == 0 ? 64 : 4096), '\0');
    for (char& byte : input) byte = static_cast<char>(random());
    Run(input);
  }
  return kInputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  Run({});
  int count = 1;
  if (argc < 2) count += RunRandom();
  for (int i = 1; i < argc; ++i) {
    const int more = RunFolder(argv[i]);
    if (more < 0) return 1;
    count += more;
  }
  printf("%d inputs\n", count);
  return 0;
}
