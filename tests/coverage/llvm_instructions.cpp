// SPDX-License-Identifier: MIT
#include "llvm_instructions.h"

#include <fcntl.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "softgpu/isa/disassembler.h"

namespace rochound::coverage {
namespace {

// What is in the other fields. Operands of some instructions must be vector registers, which
// are 0x100 and up in nine bits; an absent scalar operand is 0x7C (gfx11 and later), 0x7D or 0x7F.
constexpr uint32_t kLowFillings[] = {0x00, 0x7C, 0x7D, 0x7F};
constexpr uint32_t kSecondWords[] = {0x00000000, 0x04020100, 0xF8000000, 0xFA000000,
                                     0x007F0000, 0x007D0000, 0x007C0000, 0x1C0E0700};

// Where opcodes are in the first word. Of the long encodings, those that begin with 11, it is
// somewhere above bit 12, so all values of these bits are tried.
std::vector<uint32_t> FirstWords() {
  std::vector<uint32_t> words;
  for (uint32_t top = 0; top < 64; ++top) words.push_back(top << 25);            // VOP2
  for (uint32_t op = 0; op < 256; ++op) words.push_back(0x7C000000 | op << 17);  // VOPC
  for (uint32_t op = 0; op < 256; ++op) words.push_back(0x7E000000 | op << 9);   // VOP1
  for (uint32_t top = 0x8000; top < 0xC000; ++top) words.push_back(top << 16);   // SOP*
  for (uint32_t op = 0; op < 256; ++op) words.push_back(0xBE800000 | op << 8);   // SOP1
  for (uint32_t top = 0x60000; top < 0x80000; ++top) words.push_back(top << 13);
  return words;
}

struct Progress {
  volatile size_t next;
};

void Scan(const std::string& target, unsigned wave_size, const std::vector<uint32_t>& first_words,
          Progress* progress, FILE* out) {
  PlainDisassembler disassembler(target, wave_size);
  std::map<std::string, bool> seen;
  std::string text;
  for (size_t i = progress->next; i < first_words.size(); i = progress->next) {
    progress->next = i + 1;  // a crash goes on after the word that caused it
    bool is_long = first_words[i] >= 0xC0000000;
    for (uint32_t low : kLowFillings) {
      for (uint32_t second : kSecondWords) {
        // The third and fourth word are operands of the longest encodings.
        uint32_t words[8] = {first_words[i] | low, second};
        size_t size = disassembler.Decode(reinterpret_cast<const uint8_t*>(words), &text);
        if (size == 0) continue;
        for (const std::string& mnemonic : Mnemonics(text)) {
          if (!seen.emplace(mnemonic, true).second) continue;
          std::fprintf(out, "%s ", mnemonic.c_str());
          for (size_t word = 0; word < size / 4; ++word) std::fprintf(out, "%08x", words[word]);
          std::fprintf(out, "\n");
        }
        if (!is_long) break;
      }
    }
    std::fflush(out);
  }
}

}  // namespace

PlainDisassembler::PlainDisassembler(const std::string& target, unsigned wave_size) {
  // Ours initialises LLVM, and says whether it knows the target.
  if (softgpu::Disassembler::Create(target, wave_size) == nullptr)
    throw std::runtime_error("the disassembler does not know " + target);
  std::string features =
      wave_size == 32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64";
  if (target.starts_with("gfx9")) features.clear();
  context_ = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", target.c_str(), features.c_str(),
                                         nullptr, 0, nullptr, nullptr);
}

PlainDisassembler::~PlainDisassembler() { LLVMDisasmDispose(context_); }

size_t PlainDisassembler::Decode(const uint8_t* bytes, std::string* text) {
  char buffer[512] = {};
  uint8_t window[32];
  std::memcpy(window, bytes, sizeof(window));
  size_t size = LLVMDisasmInstruction(context_, window, sizeof(window), 0, buffer, sizeof(buffer));
  *text = buffer;
  return size % 4 == 0 ? size : 0;
}

std::vector<std::string> Mnemonics(const std::string& text) {
  std::vector<std::string> result;
  size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    size_t end = at;
    while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end]))) ++end;
    std::string mnemonic = text.substr(at, end - at);
    for (const char* suffix : {"_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa"})
      if (mnemonic.ends_with(suffix)) {
        mnemonic.resize(mnemonic.size() - std::strlen(suffix));
        break;
      }
    if (!mnemonic.empty()) result.push_back(mnemonic);
    size_t second = text.find("::", end);
    if (second == std::string::npos) break;
    at = second + 2;
  }
  return result;
}

std::map<std::string, std::string> LlvmInstructions(const std::string& target) {
  std::map<std::string, std::string> result;
  std::vector<uint32_t> first_words = FirstWords();
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) throw std::runtime_error("mmap");
  for (unsigned wave_size : {64u, 32u}) {
    if (wave_size == 32 && target.starts_with("gfx9")) continue;
    progress->next = 0;
    while (progress->next < first_words.size()) {
      int pipe_ends[2];
      if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe");
      pid_t child = fork();
      if (child < 0) throw std::runtime_error("fork");
      if (child == 0) {
        rlimit none = {};
        setrlimit(RLIMIT_CORE, &none);
        close(pipe_ends[0]);
        close(STDERR_FILENO);  // LLVM's farewell
        FILE* out = fdopen(pipe_ends[1], "w");
        Scan(target, wave_size, first_words, progress, out);
        _exit(0);
      }
      close(pipe_ends[1]);
      FILE* in = fdopen(pipe_ends[0], "r");
      char mnemonic[128], words[128];
      while (std::fscanf(in, "%127s %127s", mnemonic, words) == 2) result.emplace(mnemonic, words);
      std::fclose(in);
      waitpid(child, nullptr, 0);
    }
  }
  munmap(progress, sizeof(Progress));
  return result;
}

}  // namespace rochound::coverage
