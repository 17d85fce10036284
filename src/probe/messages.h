// SPDX-License-Identifier: MIT
//
// The analyzer `messages`: every access as a line of text, JSON or CSV. Offline, one thread.
#pragma once

#include <cstdio>
#include <string>

#include "probe/stream.h"

namespace rochound::probe {

enum class MessageFormat { kJsonLines, kCsv };

class MessageWriter {
 public:
  // out: stays the caller's.
  MessageWriter(std::FILE* out, MessageFormat format);
  void Write(const AccessMessage& message);
  // False: something could not be written.
  bool Finish();

 private:
  void WriteJson(const AccessMessage& message);
  void WriteCsv(const AccessMessage& message);
  const std::string& Described(const Site& site);

  std::FILE* out_;
  MessageFormat format_;
  std::string line_;
  // What is said about a place again and again; places live as long as they are read.
  std::string described_;
  const Site* described_site_ = nullptr;
};

}  // namespace rochound::probe
