// SPDX-License-Identifier: MIT
#include "capture/export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "capture/bundle.h"
#include "capture/describe.h"
#include "capture/gws.h"
#include "capture/proof.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr uint64_t kGranule = 4096;  // in which memory is mapped

constexpr const char* kCMakeLists = R"(cmake_minimum_required(VERSION 3.16)
project(replay LANGUAGES CXX)

set(CMAKE_CXX_STANDARD 17)
find_package(hsa-runtime64 REQUIRED PATHS /opt/rocm)

add_executable(replay main.cpp)
target_link_libraries(replay PRIVATE hsa-runtime64::hsa-runtime64)

enable_testing()
add_test(NAME replay COMMAND replay ${CMAKE_CURRENT_SOURCE_DIR})
)";

// A C++ string literal that holds exactly this text.
std::string Literal(std::string_view text) {
  std::string literal = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == '"' || byte == '\\' || byte == '?' || byte >= 0x7f) {
      literal += fmt::format("\\{:03o}", byte);
    } else {
      literal += character;
    }
  }
  return literal + "\"";
}

// The same for a line comment: text of a bundle must not end it.
std::string Comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char character) { return static_cast<unsigned char>(character) < 0x20; }, ' ');
  while (text.ends_with('\\') || text.ends_with(' ')) text.pop_back();
  return text;
}

// And for a line of the README: no HTML, no escape from the line.
std::string Line(std::string text) {
  text = Comment(std::move(text));
  for (char& character : text) {
    if (character == '<') character = '(';
    if (character == '>') character = ')';
    if (character == '`') character = '\'';
  }
  return text;
}

// A file that is written once, from beginning to end.
class OutputFile {
 public:
  explicit OutputFile(const fs::path& path)
      : path_(path),
        fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (fd_ < 0) error_ = errno;
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (fd_ >= 0) close(fd_);
  }

  void Write(std::span<const std::byte> bytes) {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) error_ = errno;
      if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  Result<void> Close() {
    if (fd_ >= 0 && close(std::exchange(fd_, -1)) != 0 && error_ == 0) error_ = errno;
    if (error_ != 0) return base::ErrnoError("cannot write", path_, error_);
    return {};
  }

 private:
  fs::path path_;
  int fd_;
  int error_ = 0;
};

Result<void> WriteFile(const fs::path& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.Write(bytes);
  return file.Close();
}

Result<void> WriteFile(const fs::path& path, std::string_view text) {
  return WriteFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

// Everything about the launch that the exported source has to know.
class Exporter {
 public:
  Exporter(const Bundle& bundle, const codeobj::CodeObject& object, const codeobj::Kernel& kernel,
           Manifest manifest)
      : bundle_(bundle), object_(object), kernel_(kernel), manifest_(std::move(manifest)) {
    const int32_t image = FindRegion(manifest_, manifest_.code_object.loaded.base);
    if (image >= 0 && Of(image).taken && Of(image).kind == "code_object") image_ = &Of(image);
    uses_gws_ = UsesGws(AsText(bundle_.code_object()), object_);
    for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
      for (const Extent& extent : bundle_.extents(phase)) memory_bytes_ += extent.bytes + 16;
    }
  }

  Result<void> Write(const fs::path& folder, const std::function<void(uint64_t, uint64_t)>& tell) {
    tell_ = &tell;
    ROCHOUND_CHECK(CheckRoom(folder));
    ROCHOUND_CHECK(WriteFile(folder / "main.cpp", kExportedMain));
    ROCHOUND_CHECK(WriteFile(folder / "launch.h", LaunchHeader()));
    ROCHOUND_CHECK(WriteFile(folder / "CMakeLists.txt", kCMakeLists));
    ROCHOUND_CHECK(WriteFile(folder / "README.md", Readme()));
    ROCHOUND_CHECK(WriteFile(folder / "kernel.hsaco", bundle_.code_object()));
    ROCHOUND_CHECK(WriteFile(folder / "kernarg.bin", bundle_.kernarg()));
    if (uses_gws_) {
      ROCHOUND_TRY(const std::string init,
                   MakeGwsInit(AsText(bundle_.code_object()), object_, kernel_, manifest_.launch));
      ROCHOUND_CHECK(WriteFile(folder / "gws_init.hsaco", init));
    }
    ROCHOUND_CHECK(WriteMemory(Phase::kBefore, folder / "before.bin"));
    return WriteMemory(Phase::kAfter, folder / "expected.bin");
  }

 private:
  const Region& Of(int32_t index) const { return manifest_.regions[static_cast<size_t>(index)]; }

  Result<void> CheckRoom(const fs::path& folder) const {
    struct statvfs status{};
    if (statvfs(folder.c_str(), &status) != 0) return {};
    const uint64_t room = uint64_t{status.f_bavail} * status.f_frsize;
    if (room > memory_bytes_ + (64 << 20)) return {};
    return Error{
        fmt::format("the launch has {} MB of memory, and on the disk of '{}' are {} MB free",
                    memory_bytes_ >> 20, folder.string(), room >> 20)};
  }

  // An address, a size, the bytes; see main.cpp.
  Result<void> WriteMemory(Phase phase, const fs::path& path) {
    OutputFile file(path);
    std::vector<std::byte> bytes;
    for (const Extent& extent : bundle_.extents(phase)) {
      bytes.resize(extent.bytes);
      ROCHOUND_CHECK(bundle_.ReadExtent(phase, extent, bytes));
      const uint64_t head[2] = {manifest_.regions[extent.region].base + extent.offset,
                                extent.bytes};
      file.Write(std::as_bytes(std::span(head)));
      file.Write(bytes);
      done_ += extent.bytes + 16;
      if (*tell_) (*tell_)(done_, memory_bytes_);
    }
    return file.Close();
  }

  // The taken regions in whole pages; regions that share a page, or touch, share a range.
  std::vector<Range> Ranges() const {
    std::vector<Range> ranges;
    for (const Region& region : manifest_.regions) {
      if (!region.taken) continue;
      const uint64_t base = region.base / kGranule * kGranule;
      const uint64_t end = (region.base + region.size + kGranule - 1) / kGranule * kGranule;
      if (!ranges.empty() && base <= ranges.back().base + ranges.back().size) {
        Range& last = ranges.back();
        last.size = std::max(last.base + last.size, end) - last.base;
      } else {
        ranges.push_back({base, end - base});
      }
    }
    return ranges;
  }

  bool KernargTaken() const {
    const Launch& launch = manifest_.launch;
    const int32_t region = FindRegion(manifest_, launch.kernarg);
    return region >= 0 && Of(region).taken &&
           launch.kernarg + launch.kernarg_bytes <= Of(region).base + Of(region).size;
  }

  std::string Arguments() const {
    std::string text;
    for (size_t i = 0; i < manifest_.arguments.size(); ++i) {
      const Argument& argument = manifest_.arguments[i];
      if (argument.region < 0) continue;
      const Region& region = Of(argument.region);
      std::string type = argument.type_name;  // "float const*" -> "float const"
      if (type.ends_with('*')) type.pop_back();
      text += fmt::format(
          "    {{{}, {}, {:#x}, {:#x}}},\n",
          Literal(argument.name.empty() ? fmt::format("argument {}", i) : argument.name),
          Literal(type), region.base + argument.region_offset, region.base + region.size);
    }
    return text;
  }

  // Words of explicit arguments that point at module variables.
  std::string PointersIntoImage() const {
    std::string text;
    if (image_ == nullptr) return text;
    for (const Argument& argument : manifest_.arguments) {
      if (argument.value_kind.starts_with("hidden_")) continue;
      const uint64_t first = (argument.offset + 7) / 8 * 8;
      for (uint64_t at = first; at + 8 <= argument.offset + argument.size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bundle_.kernarg().data() + at, sizeof word);
        if (word - image_->base < image_->size) text += fmt::format("{}, ", at);
      }
    }
    return text;
  }

  std::string LaunchHeader() const {
    const Launch& launch = manifest_.launch;
    const capture::Agent& agent = manifest_.agents[static_cast<size_t>(manifest_.agent)];
    std::string text;
    const auto add = [&]<typename... Values>(fmt::format_string<Values...> format,
                                             Values&&... values) {
      text += fmt::format(format, std::forward<Values>(values)...);
    };
    add("// The launch that main.cpp runs.\n//\n");
    add("// Kernel:    {}\n", Comment(codeobj::Demangle(kernel_.name)));
    add("// GPU:       {}\n", Comment(agent.product + ", " + agent.isa));
    add("// Captured:  {}\n", Comment(manifest_.created + " by " + manifest_.made_by));
    add("// Runtime:   {}\n", Comment(manifest_.runtime));
    for (const std::string& note : manifest_.notes) add("// Note:      {}\n", Comment(note));
    add("#pragma once\n\n#include <cstdint>\n#include <vector>\n\n");
    add("constexpr const char* kKernelName = {};\n", Literal(codeobj::Demangle(kernel_.name)));
    add("constexpr const char* kKernelSymbol = {};\n", Literal(kernel_.symbol));
    add("constexpr const char* kIsa = {};\n\n", Literal(agent.isa));
    add("// The dispatch packet. Grid and workgroup are in work-items.\n");
    add("constexpr uint16_t kSetup = {};\n", launch.setup);
    add("constexpr uint32_t kGrid[3] = {{{}, {}, {}}};\n", launch.grid[0], launch.grid[1],
        launch.grid[2]);
    add("constexpr uint16_t kWorkgroup[3] = {{{}, {}, {}}};\n", launch.workgroup[0],
        launch.workgroup[1], launch.workgroup[2]);
    add("constexpr uint32_t kGroupBytes = {};    // LDS, static and dynamic\n", launch.group_bytes);
    add("constexpr uint32_t kPrivateBytes = {};  // scratch per work-item\n\n",
        launch.private_bytes);
    add("// Whether its grid barrier is in the GPU (global wave sync); see main.cpp.\n");
    add("constexpr bool kUsesGws = {};\n\n", uses_gws_);
    add("// The arguments (kernarg.bin): where they were, and whether that memory was captured.\n");
    add("constexpr uint64_t kKernarg = {:#x};\n", launch.kernarg);
    add("constexpr uint64_t kKernargBytes = {};\n", launch.kernarg_bytes);
    add("constexpr bool kKernargCaptured = {};\n", KernargTaken());
    int64_t queue = -1;
    for (const Argument& argument : manifest_.arguments) {
      if (argument.value_kind == "hidden_queue_ptr" && argument.size == 8) queue = argument.offset;
    }
    add("constexpr int64_t kQueuePointer = {};  // offset of a pointer to the queue; -1: none\n\n",
        queue);
    add("// The captured launch failed, or did not end: there are no results to compare with.\n");
    add("constexpr bool kUnfinished = {};\n\n", manifest_.launch.unfinished);
    add("// What is proved if all bytes are as expected.\n");
    add("constexpr const char* kProved = {};\n\n", Literal(ProofText(Proof())));
    add("struct Range {{\n  uint64_t base, size;\n}};\n\n");
    add("// The captured kernel.hsaco: another build in its place is treated as such.\n");
    add("constexpr uint64_t kCodeBytes = {};\n", bundle_.code_object().size());
    add("constexpr uint64_t kCodeHash = {:#x};  // FNV-1a\n",
        base::Fnv1a64(AsText(bundle_.code_object())));
    add("// The code object as it was loaded: address = address in the file + delta.\n");
    add("constexpr uint64_t kDescriptorAddress = {:#x};  // of the kernel, in the file\n",
        kernel_.descriptor_address);
    add("constexpr uint64_t kCapturedDelta = {:#x};\n", manifest_.code_object.load_delta);
    add("constexpr Range kCapturedImage = {{{:#x}, {}}};\n", image_ != nullptr ? image_->base : 0,
        image_ != nullptr ? image_->size : 0);
    add("// Module variables: what of it is data, by addresses in the file.\n");
    add("static const std::vector<Range> kVariables = {{\n");
    for (const codeobj::Segment& segment : object_.segments()) {
      if (image_ == nullptr || segment.executable || segment.memory_size == 0) continue;
      add("    {{{:#x}, {}}},\n", segment.address, segment.memory_size);
    }
    add("}};\n// Offsets of arguments that point at them.\n");
    add("static const std::vector<uint64_t> kPointersIntoImage = {{{}}};\n\n", PointersIntoImage());
    add("// Memory that the launch can reach, and what leads to it.\n");
    add("struct Region {{\n  uint64_t base, size;\n");
    add("  bool compared;  // false: what it was after the launch is not known\n}};\n");
    add("static const std::vector<Region> kRegions = {{\n");
    for (uint32_t i = 0; i < manifest_.regions.size(); ++i) {
      const Region& region = manifest_.regions[i];
      if (!region.taken) continue;
      // The program goes on writing arguments of other launches, so these are captured before only.
      const bool compared = region.kind != "kernarg" || !bundle_.after(i).empty();
      add("    {{{:#x}, {}, {}}},  // {}\n", region.base, region.size, compared,
          Comment(region.kind + ", " + region.reached_by));
    }
    add("}};\n\n// The same in whole pages, which is how it is mapped.\n");
    add("static const std::vector<Range> kRanges = {{\n");
    for (const Range& range : Ranges()) add("    {{{:#x}, {}}},\n", range.base, range.size);
    add("}};\n\n// Pointers among the arguments, to name what differs.\n");
    add("struct Argument {{\n  const char* name;\n  const char* type;\n");
    add("  uint64_t address, end;\n}};\n");
    add("static const std::vector<Argument> kArguments = {{\n{}}};\n", Arguments());
    return text;
  }

  std::string Readme() const {
    const Launch& launch = manifest_.launch;
    const capture::Agent& agent = manifest_.agents[static_cast<size_t>(manifest_.agent)];
    std::string text = fmt::format(
        R"(# One launch of {}

Runs a kernel launch that was captured from a running program: the same code object, arguments and memory, at the same addresses. Prints
PASS if it leaves the memory that it left then, in every byte, or FAIL and the first differences. A launch that changed nothing
proves nothing, and is NOT VERIFIED. Another build of the kernel (hipcc --genco --no-gpu-bundle-output) may
take the place of kernel.hsaco; its module variables then begin as its own file has them. Needs ROCm 6 or later and a GPU of the same kind
({}, {}).

```
hipcc -std=c++17 main.cpp -o replay -lhsa-runtime64 && ./replay
```

or `cmake -B build && cmake --build build && ./build/replay .`. It ends with 0 (PASS), 1 (FAIL), 2 (it
could not be run) or 9 (NOT VERIFIED).

| | |
|---|---|
| grid, workgroup | {} x {} x {}, {} x {} x {} work-items |
| LDS, scratch | {} bytes per workgroup, {} bytes per work-item |
| captured | {} by {} |

main.cpp is the program, launch.h says what was launched. kernel.hsaco is the code object; kernarg.bin, before.bin and expected.bin are the
arguments and the memory before and after. **The data are those of the program that was captured: look before you pass them on.**
)",
        Line(codeobj::Demangle(kernel_.name)), Line(agent.product), Line(agent.isa), launch.grid[0],
        launch.grid[1], launch.grid[2], launch.workgroup[0], launch.workgroup[1],
        launch.workgroup[2], launch.group_bytes, launch.private_bytes, Line(manifest_.created),
        Line(manifest_.made_by));
    if (!manifest_.notes.empty()) text += "\nNoted when it was captured:\n\n";
    for (const std::string& note : manifest_.notes) text += "- " + Line(note) + "\n";
    return text;
  }

  const Bundle& bundle_;
  const codeobj::CodeObject& object_;
  const codeobj::Kernel& kernel_;
  const Manifest manifest_;
  const Region* image_ = nullptr;  // of the code object, if it was taken
  const std::function<void(uint64_t, uint64_t)>* tell_ = nullptr;
  bool uses_gws_ = false;
  uint64_t memory_bytes_ = 0;  // of before.bin and expected.bin
  uint64_t done_ = 0;
};

}  // namespace

Result<void> Export(const Bundle& bundle, const fs::path& folder,
                    const std::function<void(uint64_t, uint64_t)>& progress) {
  Manifest manifest = bundle.manifest();
  DescribeLaunch(manifest, bundle.kernarg(), bundle.code_object());
  const auto object = codeobj::CodeObject::Parse(AsText(bundle.code_object()));
  if (!object.ok()) return object.error().In("the bundle's code object");
  const codeobj::Kernel* const kernel = object.value().FindKernel(manifest.kernel);
  if (kernel == nullptr)
    return Error{"the bundle's code object has no kernel '" + manifest.kernel + "'"};
  if (mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST)
      return Error{"'" + folder.string() + "' is there already; choose another folder"};
    return base::ErrnoError("cannot create", folder, errno);
  }
  Exporter exporter(bundle, object.value(), *kernel, std::move(manifest));
  Result<void> written = exporter.Write(folder, progress);
  if (!written.ok()) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  return written;
}

}  // namespace rochound::capture
