// SPDX-License-Identifier: MIT
//
// A bundle's memory on the GPU: put there as it was before the launch, compared with what it was
// after it, and brought back before the next launch, which touches only the pages that launches
// change. Used on the main thread; the addresses are mapped already. Refers to bundle and copier,
// which live longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/bundle.h"
#include "capture/replay/differences.h"
#include "capture/replay/image.h"
#include "capture/replay/poison.h"
#include "capture/replay/runtime.h"

namespace rochound::capture::replay {

// A word of taken memory that is different here on purpose.
struct Patch {
  uint64_t address = 0;
  uint64_t captured = 0, here = 0;
};

// What belongs to one loaded build of the kernel.
struct Image {
  ImageMap map;
  bool changes = false;                // launches change its variables, as far as is known
  std::vector<Copier::Piece> restore;  // from a copy on the GPU, made when it is first needed
};

class Memory {
 public:
  using Progress = std::function<void(double part)>;

  Memory(const Bundle& bundle, Runtime& runtime, const Gpu& gpu, Copier& copier);

  // Everything as it was before the launch.
  base::Result<void> FillAll(const Progress& progress);
  // The variables of a loaded build, as they were before the launch.
  base::Result<void> FillImage(Image* image);
  base::Result<void> Apply(std::span<const Patch> patches);

  // All taken memory against "after". Remembers what differs, so that Restore brings it back.
  base::Result<void> VerifyAll(Image* image, Differences* differences, const Progress& progress);
  // Only what launches have been seen to change.
  base::Result<void> VerifyChanged(Image* image, Differences* differences);

  // Puts the pattern into memory that is as before the launch. Until RemovePoison, VerifyAll
  // compares with what the captured code makes of poisoned memory; learn: it is being run, and what
  // it keeps of the pattern is remembered instead of compared.
  base::Result<void> ApplyPoison(Poison* poison, bool learn);
  // Before the Restore that follows.
  base::Result<void> RemovePoison();

  // Before the first Restore, and whenever a verification may have found more.
  base::Result<void> PrepareRestore();
  base::Result<void> Restore(Image* image);

  // Whether the captured launch changed anything that is compared.
  bool captured_changes() const;
  uint64_t changed_bytes() const { return changed_.bytes(); }
  bool restores_on_gpu() const { return backup_ != nullptr || changed_.bytes() == 0; }
  const std::vector<std::string>& notes() const { return notes_; }
  // An error was the bundle's, not the GPU's.
  bool damaged() const { return damaged_; }

 private:
  const std::vector<Region>& regions() const { return bundle_.manifest().regions; }
  base::Result<void> Read(uint32_t region, uint64_t offset, std::span<std::byte> into,
                          Phase phase) const;
  // Puts in what is different on purpose.
  void Overlay(uint64_t address, std::span<std::byte> bytes) const;
  base::Result<void> Expected(uint32_t region, uint64_t offset, std::span<std::byte> into,
                              Phase phase) const;
  bool Comparable(uint32_t region) const;
  // The bytes of a data part before the launch, with addresses as they are here.
  base::Result<void> ImageBytes(const Image& image, const ImagePart& part,
                                std::vector<std::byte>* bytes) const;
  base::Result<void> RestoreImage(Image* image);
  base::Result<void> VerifyImage(Image* image, Differences* differences);

  const Bundle& bundle_;
  Runtime& runtime_;
  Gpu gpu_;
  Copier& copier_;
  int32_t image_region_ = -1;  // of the captured image, if it was taken
  std::vector<Patch> patches_;
  Poison* poison_ = nullptr;
  bool learn_ = false;
  PageRuns changed_;
  size_t prepared_runs_ = 0;
  uint64_t prepared_bytes_ = 0;
  std::byte* backup_ = nullptr;
  std::vector<Copier::Piece> restore_;
  std::vector<std::string> notes_;
  mutable bool damaged_ = false;
};

}  // namespace rochound::capture::replay
