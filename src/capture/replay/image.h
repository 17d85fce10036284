// SPDX-License-Identifier: MIT
//
// Module variables. The runtime's loader chooses where a code object goes, so its variables are
// elsewhere than in the captured process. An ImageMap says where each captured address of the image
// is here, and moves the addresses that are stored inside of variables and arguments. Pure values;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/manifest.h"
#include "codeobj/code_object.h"

namespace rochound::capture::replay {

struct ImagePart {
  uint64_t captured = 0;  // address in the captured process
  uint64_t here = 0;      // address in this one
  uint64_t size = 0;
};

class ImageMap {
 public:
  // The same code object loaded again, with this delta. Data parts are all but the code.
  static ImageMap Same(const codeobj::CodeObject& object, const CodeObject& captured,
                       uint64_t delta);
  // Another build: variables and functions go by name; variables that it leaves to others are those
  // of the first, which is loaded here with this delta. Notes: what has no counterpart.
  static ImageMap ByName(const codeobj::CodeObject& object, const CodeObject& captured,
                         uint64_t delta, const codeobj::CodeObject& other, uint64_t other_delta,
                         std::vector<std::string>* notes);

  // What holds data, to be restored and verified; in ascending order, disjoint.
  const std::vector<ImagePart>& data() const { return data_; }

  std::optional<uint64_t> Here(uint64_t captured) const;
  std::optional<uint64_t> Captured(uint64_t here) const;

  // Turns the words of bytes, which were at this captured address, that point into the captured
  // image into what they have to be here; returns how many.
  size_t MoveHere(std::span<std::byte> bytes, uint64_t address) const;
  // The other way round.
  size_t MoveBack(std::span<std::byte> bytes, uint64_t address) const;

 private:
  void Sort();

  std::vector<ImagePart> data_;
  std::vector<ImagePart> places_;  // all that can be pointed to, by captured address
  std::vector<ImagePart> here_;    // the same, by address here
};

}  // namespace rochound::capture::replay
