// SPDX-License-Identifier: MIT
#include "codeobj/disassembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "codeobj/comgr.h"
#include "codeobj/elf_view.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

// What comgr's callbacks see while one instruction is decoded.
struct Decoding {
  std::string_view code;
  uint64_t address = 0;  // of the code's first byte
  Instruction* instruction = nullptr;
};

uint64_t ReadCode(uint64_t from, char* to, uint64_t size, void* user) {
  const auto& decoding = *static_cast<Decoding*>(user);
  if (from < decoding.address || from - decoding.address >= decoding.code.size()) return 0;
  const std::string_view rest = decoding.code.substr(from - decoding.address);
  const uint64_t count = std::min<uint64_t>(size, rest.size());
  memcpy(to, rest.data(), count);
  return count;
}

void TakeText(const char* text, void* user) {
  std::string_view trimmed = text;
  trimmed.remove_prefix(std::min(trimmed.find_first_not_of(" \t"), trimmed.size()));
  static_cast<Decoding*>(user)->instruction->text = trimmed;
}

void TakeTarget(uint64_t address, void* user) {
  static_cast<Decoding*>(user)->instruction->target = address;
}

// The kernel's code. Where the symbol has no size, it goes up to the next function.
Result<std::string_view> CodeOf(const ElfView& elf, const CodeObject& object,
                                const Kernel& kernel) {
  uint64_t size = kernel.code_size;
  if (size == 0) {
    for (const Segment& segment : object.segments())
      if (segment.executable && kernel.code_address >= segment.address &&
          kernel.code_address - segment.address < segment.file_size)
        size = segment.file_size - (kernel.code_address - segment.address);
    for (const Symbol& function : object.functions())
      if (function.address > kernel.code_address)
        size = std::min(size, function.address - kernel.code_address);
  }
  const auto code = elf.AtAddress(kernel.code_address, size);
  if (!code || code->empty())
    return Error{fmt::format("the code of '{}' lies outside of the code object", kernel.name)};
  return *code;
}

class Symbolizer {
 public:
  Symbolizer(const Comgr& comgr, std::string_view bytes) : comgr_(comgr) {
    if (comgr.create_symbolizer == nullptr) return;
    if (comgr.create_data(Comgr::kDataExecutable, &data_) != Comgr::kSuccess) return;
    if (comgr.set_data(data_, bytes.size(), bytes.data()) != Comgr::kSuccess) return;
    const auto take = [](const char* text, void* user) { *static_cast<std::string*>(user) = text; };
    ready_ = comgr.create_symbolizer(data_, take, &symbolizer_) == Comgr::kSuccess;
  }
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;
  ~Symbolizer() {
    if (ready_) comgr_.destroy_symbolizer(symbolizer_);
    if (data_.value != 0) comgr_.release_data(data_);
  }

  std::vector<SourceFrame> Frames(uint64_t address) {
    std::string text;
    if (!ready_ || comgr_.symbolize(symbolizer_, address, true, &text) != Comgr::kSuccess)
      return {};
    return ParseFrames(text);
  }

 private:
  const Comgr& comgr_;
  Comgr::Handle data_, symbolizer_;
  bool ready_ = false;
};

// Takes ":number" from the text's end.
bool TakeNumber(std::string_view* text, uint32_t* number) {
  const size_t colon = text->rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = text->substr(colon + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return false;
  text->remove_suffix(text->size() - colon);
  return true;
}

}  // namespace

// "FUNCTION at FILE:LINE:COLUMN", one line per frame; outer ones begin with " (inlined by) ".
std::vector<SourceFrame> ParseFrames(std::string_view text) {
  constexpr std::string_view kInlined = " (inlined by) ";
  constexpr std::string_view kAt = " at ";
  std::vector<SourceFrame> frames;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(kInlined)) line.remove_prefix(kInlined.size());
    SourceFrame frame;
    if (!TakeNumber(&line, &frame.column) || !TakeNumber(&line, &frame.line)) continue;
    const size_t at = line.find(kAt);
    if (at == std::string_view::npos) continue;
    frame.function = line.substr(0, at);
    frame.file = line.substr(at + kAt.size());
    if (frame.file == "??" || frame.file.empty()) continue;
    frames.push_back(std::move(frame));
  }
  return frames;
}

bool HasSourceLines(std::string_view bytes) {
  const auto elf = ElfView::Open(bytes);
  if (!elf.ok()) return false;
  const auto& sections = elf.value().sections();
  return std::any_of(sections.begin(), sections.end(), [](const ElfView::Section& section) {
    return section.name == ".debug_line" && section.header.sh_size != 0;
  });
}

namespace {

// LLVM ends the whole process when it is asked about these: gfx600 to gfx705.
bool HasDisassembler(const std::string& processor) {
  const bool old = processor.starts_with("gfx6") || processor.starts_with("gfx7");
  return !old || processor.size() != std::string_view("gfx600").size();
}

}  // namespace

Result<std::vector<Instruction>> Disassemble(std::string_view bytes, const CodeObject& object,
                                             const Kernel& kernel, bool with_source) {
  ROCHOUND_TRY(const ElfView elf, ElfView::Open(bytes));
  ROCHOUND_TRY(const std::string_view code, CodeOf(elf, object, kernel));
  if (!HasDisassembler(object.target().processor))
    return Error{
        fmt::format("code for {} cannot be disassembled: LLVM knows no GPU before gfx8 well "
                    "enough",
                    object.target().processor)};
  ROCHOUND_TRY(const Comgr* comgr, Comgr::Get());
  // Features do not change what an instruction is.
  const std::string isa = "amdgcn-amd-amdhsa--" + object.target().processor;
  Comgr::Handle handle;
  if (comgr->create_disassembly(isa.c_str(), &ReadCode, &TakeText, &TakeTarget, &handle) !=
      Comgr::kSuccess)
    return Error{fmt::format(
        "this ROCm's code object manager (libamd_comgr) cannot disassemble for {}; a newer ROCm "
        "may",
        object.target().processor)};
  std::unique_ptr<Symbolizer> symbolizer;
  if (with_source && HasSourceLines(bytes))
    symbolizer = std::make_unique<Symbolizer>(*comgr, bytes);

  std::vector<Instruction> instructions;
  Decoding decoding{code, kernel.code_address};
  for (uint64_t offset = 0; offset < code.size();) {
    Instruction instruction;
    instruction.address = kernel.code_address + offset;
    decoding.instruction = &instruction;
    uint64_t size = 0;
    const int status = comgr->disassemble(handle, instruction.address, &decoding, &size);
    if (status != Comgr::kSuccess || size == 0 || size > code.size() - offset) {
      // Data between the code, or something newer than this comgr: a word at a time.
      size = std::min<uint64_t>(4, code.size() - offset);
      uint32_t word = 0;
      memcpy(&word, code.data() + offset, size);
      instruction.text = fmt::format(".long {:#010x}", word);
      instruction.target.reset();
    }
    instruction.size = static_cast<uint32_t>(size);
    if (symbolizer) instruction.source = symbolizer->Frames(instruction.address);
    instructions.push_back(std::move(instruction));
    offset += size;
  }
  comgr->destroy_disassembly(handle);
  return instructions;
}

}  // namespace rochound::codeobj
