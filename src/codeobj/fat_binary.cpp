// SPDX-License-Identifier: MIT
//
// Bundle:     "__CLANG_OFFLOAD_BUNDLE__", u64 entries, entries x {u64 offset, u64 size, u64 length,
//             id}; offsets count from the bundle's start.
// Compressed: "CCOB", u16 version, u16 method (0 zlib, 1 zstd), sizes, u64 hash, then the bundle.
//             Sizes are u32 unfolded (version 1), u32 all + u32 unfolded (2), u64 + u64 (3).
// Linked programs hold one after the other in .hip_fatbin, a page apart.
#include "codeobj/fat_binary.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "codeobj/elf_view.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint16_t kMachineAmdgpu = 224;

// Takes numbers from the front of some bytes; bad() once there were not enough.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Take() {
    T value{};
    if (rest_.size() < sizeof(T)) {
      bad_ = true;
      return value;
    }
    memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view Take(uint64_t size) {
    if (rest_.size() < size) {
      bad_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool bad() const { return bad_; }

 private:
  std::string_view rest_;
  bool bad_ = false;
};

struct Found {
  std::vector<EmbeddedObject> objects;
  std::vector<std::string> others;  // ids that are for something else
};

// Adds the bundle's code objects; returns where the bundle ends.
Result<uint64_t> ReadBundle(std::string_view bytes, const std::shared_ptr<const std::string>& owner,
                            Found* found) {
  Cursor cursor(bytes.substr(kBundleMagic.size()));
  const auto count = cursor.Take<uint64_t>();
  // Compilers write one for each target. What unfolds may repeat them endlessly.
  constexpr uint64_t kMostParts = 4096;
  if (!cursor.bad() && count > kMostParts)
    return Error{fmt::format("the offload bundle has {} parts, and {} can be read; it is damaged",
                             count, kMostParts)};
  // An entry takes at least 24 bytes, so a wrong count ends soon.
  uint64_t end = 0;
  for (uint64_t i = 0; i < count && !cursor.bad(); ++i) {
    const auto offset = cursor.Take<uint64_t>();
    const auto size = cursor.Take<uint64_t>();
    const std::string_view id = cursor.Take(cursor.Take<uint64_t>());
    if (cursor.bad()) break;
    if (offset > bytes.size() || size > bytes.size() - offset)
      return Error{
          fmt::format("the offload bundle ends before its part for '{}'; it is cut short", id)};
    end = std::max(end, offset + size);
    const std::string_view part = bytes.substr(offset, size);
    auto target = ParseTarget(id);
    if (!target.ok() || !ElfView::IsElf(part)) {
      if (!part.empty() && found->others.size() < 8) found->others.emplace_back(id);
      continue;
    }
    found->objects.push_back({std::string(id), std::move(target).value(), part, owner});
  }
  if (cursor.bad()) return Error{"the offload bundle ends inside its list of parts; it is damaged"};
  return std::max<uint64_t>(end, bytes.size() - cursor.rest().size());
}

// zstd's frame, unfolded; *used: how long it was.
Result<std::string> Unfold(std::string_view frame, uint64_t claimed, uint64_t largest,
                           uint64_t* used) {
  if (claimed > largest)
    return Error{fmt::format("the compressed offload bundle unfolds to {} bytes; {} are allowed",
                             claimed, largest)};
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (!context) return Error{"no memory to unfold the offload bundle"};
  // Grows with what comes, not with what the header claims.
  std::string content;
  ZSTD_inBuffer input{frame.data(), frame.size(), 0};
  size_t state = 1;
  while (state != 0) {
    const size_t before = content.size();
    const size_t room =
        std::min<uint64_t>(std::max<uint64_t>(before, ZSTD_DStreamOutSize()), claimed - before);
    content.resize(before + room);
    ZSTD_outBuffer output{content.data(), content.size(), before};
    const size_t input_before = input.pos;
    state = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(state) != 0)
      return Error{
          fmt::format("the compressed offload bundle is damaged: {}", ZSTD_getErrorName(state))};
    content.resize(output.pos);
    if (state != 0 && output.pos == before && input.pos == input_before)
      return Error{"the compressed offload bundle is damaged: it does not unfold to its size"};
  }
  if (content.size() != claimed)
    return Error{"the compressed offload bundle is damaged: it does not unfold to its size"};
  *used = input.pos;
  return content;
}

// The same for a compressed one; *largest is what may still be unfolded.
Result<uint64_t> ReadCompressed(std::string_view bytes, uint64_t* largest, Found* found) {
  Cursor cursor(bytes.substr(kCompressedMagic.size()));
  const auto version = cursor.Take<uint16_t>();
  const auto method = cursor.Take<uint16_t>();
  std::optional<uint64_t> all;
  uint64_t unfolded = 0;
  switch (version) {
    case 1:
      unfolded = cursor.Take<uint32_t>();
      break;
    case 2:
      all = cursor.Take<uint32_t>();
      unfolded = cursor.Take<uint32_t>();
      break;
    case 3:
      all = cursor.Take<uint64_t>();
      unfolded = cursor.Take<uint64_t>();
      break;
    default:
      return Error{fmt::format("the compressed offload bundle is of version {}; 1 to 3 can be read",
                               version)};
  }
  cursor.Take<uint64_t>();  // hash
  const uint64_t head = bytes.size() - cursor.rest().size();
  if (cursor.bad() || (all && (*all < head || *all > bytes.size())))
    return Error{"the compressed offload bundle is cut short"};
  if (method != 1)
    return Error{fmt::format(
        "the offload bundle is compressed by {}; only zstd can be read. Compile it with "
        "--no-offload-compress, or unfold it with clang-offload-bundler",
        method == 0 ? "zlib" : fmt::format("method {}", method))};
  uint64_t used = 0;
  ROCHOUND_TRY(std::string content,
               Unfold(bytes.substr(head, all ? *all - head : std::string_view::npos), unfolded,
                      *largest, &used));
  *largest -= content.size();
  const auto owner = std::make_shared<const std::string>(std::move(content));
  if (!owner->starts_with(kBundleMagic))
    return Error{"what the compressed offload bundle unfolds to is no offload bundle"};
  if (auto read = ReadBundle(*owner, owner, found); !read.ok()) return read.error();
  return all ? *all : head + used;
}

// All bundles in these bytes, one after the other; *largest as above.
Result<void> ReadBundles(std::string_view bytes, uint64_t* largest, Found* found) {
  while (true) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of('\0'), bytes.size()));
    // "CCOB" may be anywhere by chance; the long one does not.
    if (!bytes.starts_with(kCompressedMagic))
      bytes.remove_prefix(std::min(bytes.find(kBundleMagic), bytes.size()));
    if (bytes.empty()) return {};
    if (bytes.starts_with(kCompressedMagic)) {
      ROCHOUND_TRY(const uint64_t end, ReadCompressed(bytes, largest, found));
      bytes.remove_prefix(end);
    } else {
      ROCHOUND_TRY(const uint64_t end, ReadBundle(bytes, nullptr, found));
      bytes.remove_prefix(end);
    }
  }
}

Result<void> ReadElf(std::string_view bytes, uint64_t* largest, Found* found) {
  ROCHOUND_TRY(const ElfView elf, ElfView::Open(bytes));
  const Elf64_Ehdr& header = elf.header();
  if (header.e_machine == kMachineAmdgpu) {
    ROCHOUND_TRY(Target target, TargetOfFlags(header.e_flags, header.e_ident[EI_ABIVERSION]));
    found->objects.push_back({"amdgcn-amd-amdhsa--" + target.Id(), target, bytes, nullptr});
    return {};
  }
  bool any = false;
  uint64_t left = bytes.size();
  for (const ElfView::Section& section : elf.sections()) {
    if (section.name != ".hip_fatbin") continue;
    const auto content = elf.Content(section);
    if (!content) return Error{"the section .hip_fatbin lies outside of the file; it is cut short"};
    any = true;
    if (content->size() > left)
      return Error{"the sections .hip_fatbin are larger than the file; it is damaged"};
    left -= content->size();
    ROCHOUND_CHECK(ReadBundles(*content, largest, found));
  }
  if (!any)
    return Error{
        "this program or library holds no GPU code: it has no section .hip_fatbin. Give the file "
        "that HIP code was compiled into, or what hipcc --genco writes"};
  return {};
}

}  // namespace

Result<std::vector<EmbeddedObject>> FindCodeObjects(std::string_view bytes, uint64_t largest) {
  Found found;
  if (ElfView::IsElf(bytes)) {
    ROCHOUND_CHECK(ReadElf(bytes, &largest, &found));
  } else if (bytes.starts_with(kBundleMagic) || bytes.starts_with(kCompressedMagic)) {
    ROCHOUND_CHECK(ReadBundles(bytes, &largest, &found));
  } else {
    return Error{
        "this is neither a code object nor an offload bundle nor a program. Give what hipcc "
        "--genco --offload-arch=... writes, or a program or library that was built by hipcc"};
  }
  if (!found.objects.empty()) return std::move(found.objects);
  std::string others;
  for (const std::string& id : found.others) others += (others.empty() ? "" : ", ") + id;
  return Error{others.empty()
                   ? "the offload bundle holds no code"
                   : fmt::format("the offload bundle holds no code objects; it is for {}", others)};
}

const EmbeddedObject* BestFor(const std::vector<EmbeddedObject>& objects, const Target& gpu) {
  const auto rank = [&](const EmbeddedObject& object) {
    const auto decided = [](Feature feature) {
      return feature == Feature::kOn || feature == Feature::kOff ? 1 : 0;
    };
    return (object.target.processor == gpu.processor ? 4 : 0) + decided(object.target.sramecc) +
           decided(object.target.xnack);
  };
  const EmbeddedObject* best = nullptr;
  for (const EmbeddedObject& object : objects) {
    if (!RunsOn(object.target, gpu)) continue;
    if (best == nullptr || rank(object) > rank(*best)) best = &object;
  }
  return best;
}

}  // namespace rochound::codeobj
