// SPDX-License-Identifier: MIT
#include "softgpu/driver/message.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <string>

namespace rochound::softgpu {

void PrintMessage(std::string_view message) {
  std::string line = "rochound softgpu: ";
  line += message;
  line += '\n';
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody to tell
}

void PrintFormatted(const char* format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  PrintMessage(message);
}

}  // namespace rochound::softgpu
