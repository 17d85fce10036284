// SPDX-License-Identifier: MIT
//
// Makes a capture bundle of arbitrary bytes and reads all of it: that must end with an error or
// with memory, never in a crash, and parts must agree with the whole. To get behind the checksums,
// sizes and sums are put right unless the input's first byte says otherwise (bundle_input.h).
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "capture/bundle.h"
#include "capture/bundle_directory.h"
#include "capture/checksum.h"
#include "capture/describe.h"
#include "capture/pack.h"
#include "fuzz/bundle_input.h"
#include "fuzz/folder.h"

namespace {

namespace fs = std::filesystem;
using namespace rochound::capture;
using rochound::fuzz::BundleInput;
using rochound::fuzz::Folder;

constexpr size_t kMaxInput = 64 << 10;

uint64_t Sum(std::string_view text) {
  return Checksum(std::as_bytes(std::span(text.data(), text.size())));
}

// The extents with places one after the other and the sums of what is there.
std::string Index(std::string extents, std::string_view data, Phase phase, bool keep) {
  IndexHeader header{};
  memcpy(header.magic, kIndexMagic, sizeof header.magic);
  header.version = kBundleVersion;
  header.page_bytes = kPageBytes;
  header.phase = phase;
  header.count = extents.size() / sizeof(Extent);
  extents.resize(header.count * sizeof(Extent));
  uint64_t end = 0;
  for (size_t at = 0; !keep && at < extents.size(); at += sizeof(Extent)) {
    Extent extent{};
    memcpy(&extent, extents.data() + at, sizeof extent);
    const bool zeros = extent.encoding == Encoding::kZeros;
    extent.place = zeros ? 0 : end;
    extent.checksum = zeros ? 0 : Sum(data.substr(std::min(end, data.size()), extent.stored));
    if (!zeros) end += std::min<uint64_t>(extent.stored, data.size());
    memcpy(extents.data() + at, &extent, sizeof extent);
  }
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + extents;
}

// What the files hold, so that only what changed is written: most inputs differ in one part from
// the one before, and writing is what takes the time.
std::map<std::string, std::string> written;

void Write(const char* name, const std::string& content) {
  const auto [known, fresh] = written.try_emplace(name);
  if (!fresh && known->second == content) return;
  known->second = content;
  const fs::path path = Folder() / "bundle" / name;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    abort();
  close(fd);
}

void WriteBundle(const BundleInput& input) {
  using namespace rochound::fuzz;
  const bool keep = (input.choice & BundleInput::kKeepExtents) != 0;
  std::string kernarg = input.parts[kKernarg];
  if ((input.choice & BundleInput::kKeepKernarg) == 0) {
    const auto manifest = FromJson(input.manifest);
    if (manifest.ok() && manifest.value().launch.kernarg_bytes <= 4096)
      kernarg.resize(manifest.value().launch.kernarg_bytes);
  }
  const std::array<std::string, kFileNames.size()> files = {
      input.manifest,
      input.parts[kCodeObject],
      kernarg,
      Index(input.parts[kBeforeExtents], input.parts[kBeforeData], Phase::kBefore, keep),
      input.parts[kBeforeData],
      Index(input.parts[kAfterExtents], input.parts[kAfterData], Phase::kAfter, keep),
      input.parts[kAfterData]};
  FileLines lines;
  for (size_t i = 0; i < files.size(); ++i) {
    Write(kFileNames[i], files[i]);
    lines[i] = {files[i].size(), Sum(files[i])};
  }
  const bool as_it_stands = (input.choice & BundleInput::kAsItStands) != 0;
  Write(kChecksumsName, as_it_stands ? input.parts[0] : ChecksumsText(lines));
}

// The beginning of each region in one piece and in three.
void ReadAll(const Bundle& bundle) {
  const std::vector<Region>& regions = bundle.manifest().regions;
  for (uint32_t i = 0; i < std::min<size_t>(regions.size(), 20); ++i) {
    const size_t size = std::min<uint64_t>(regions[i].size, 40000);
    std::vector<std::byte> whole(size);
    std::vector<std::byte> parts(size);
    const std::span<std::byte> all(parts);
    using Read =
        rochound::base::Result<void> (Bundle::*)(uint32_t, uint64_t, std::span<std::byte>) const;
    for (const Read read : {&Bundle::ReadBefore, &Bundle::ReadAfter}) {
      const bool good = (bundle.*read)(i, 0, whole).ok();
      const size_t a = size / 3;
      const size_t b = size - size / 5;
      const bool same = (bundle.*read)(i, 0, all.first(a)).ok() &&
                        (bundle.*read)(i, a, all.subspan(a, b - a)).ok() &&
                        (bundle.*read)(i, b, all.subspan(b)).ok();
      if (good != same || (good && whole != parts)) abort();
    }
    for (const Extent& extent : bundle.before(i)) {
      if (End(extent) > regions[i].size) abort();
    }
    std::byte last{};
    if (regions[i].taken) (void)bundle.ReadAfter(i, regions[i].size - 1, {&last, 1}).ok();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  fs::create_directory(Folder() / "bundle");
  const BundleInput input = rochound::fuzz::Decode({reinterpret_cast<const char*>(data), size});
  WriteBundle(input);
  const fs::path path = Folder() / "bundle";
  const auto bundle = Bundle::Open(path);
  if (!bundle.ok()) return 0;
  ReadAll(bundle.value());
  Manifest manifest = bundle.value().manifest();
  DescribeLaunch(manifest, bundle.value().kernarg(), bundle.value().code_object());
  // Whatever was accepted can be written, and is accepted again.
  const auto again = FromJson(ToJson(manifest));
  if (!again.ok()) abort();
  if (!bundle.value().Verify().ok() || (input.choice & BundleInput::kPack) == 0) return 0;
  written.clear();
  const auto packed = Pack(path, path, {.level = 1, .threads = 1});
  if (!packed.ok()) abort();
  const auto small = Bundle::Open(path);
  if (!small.ok() || !small.value().Verify().ok()) abort();
  ReadAll(small.value());
  return 0;
}
