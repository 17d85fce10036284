// SPDX-License-Identifier: MIT
#include "store/convert/text_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace rochound::store {

base::Result<TextOutput> TextOutput::Open(const std::filesystem::path& path) {
  if (path == "-") return TextOutput(STDOUT_FILENO, "standard output");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return base::ErrnoError("cannot create", path, errno);
  TextOutput output(fd, path.string());
  output.owned_ = true;
  return output;
}

TextOutput::TextOutput(TextOutput&& other) noexcept
    : fd_(other.fd_),
      owned_(std::exchange(other.owned_, false)),
      name_(std::move(other.name_)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

TextOutput::~TextOutput() {
  if (owned_) close(fd_);
}

void TextOutput::Flush() {
  for (size_t done = 0; done < buffer_.size() && error_ == 0;) {
    const ssize_t written = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) error_ = written < 0 ? errno : EIO;
    done += written > 0 ? static_cast<size_t>(written) : 0;
  }
  buffer_.clear();
}

base::Result<void> TextOutput::Finish() {
  Flush();
  if (error_ != 0 && error_ != EPIPE) return base::ErrnoError("cannot write", name_, error_);
  return {};
}

}  // namespace rochound::store
