// SPDX-License-Identifier: MIT
#include "fleet/storage/s3_object.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <system_error>

#include "base/files.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;

constexpr std::string_view kScheme = "s3://";

std::string Variable(const char* name, const char* otherwise = "") {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// As the signature wants it: everything but letters, digits, -._~ and the slashes as %XX.
std::string Escape(std::string_view path) {
  std::string escaped;
  for (const char one : path) {
    const auto byte = static_cast<unsigned char>(one);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(one) != std::string_view::npos)
      escaped += one;
    else
      escaped += fmt::format("%{:02X}", byte);
  }
  return escaped;
}

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

File Open(const std::filesystem::path& path, const char* mode) {
  return {fopen(path.c_str(), mode), fclose};
}

struct Answer {
  long status = 0;
  std::string text;  // of an error, or where there is no file for it
  FILE* file = nullptr;
  CURL* curl = nullptr;
};

size_t Collect(char* data, size_t size, size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  curl_easy_getinfo(answer.curl, CURLINFO_RESPONSE_CODE, &answer.status);
  if (answer.file != nullptr && answer.status < 300)
    return fwrite(data, 1, size * count, answer.file);
  if (answer.text.size() < 65536) answer.text.append(data, size * count);
  return size * count;
}

// One request; `prepare` says what kind. An error if the storage could not be asked.
Result<void> Perform(const std::string& path, const char* what, Answer* answer,
                     const std::function<void(CURL*)>& prepare) {
  const std::string place = IsObjectPath(path) ? Escape(path.substr(kScheme.size())) : "";
  const size_t slash = place.find('/');
  if (slash == std::string::npos) return Error{"'" + path + "' is no object"};
  const S3Access access = S3AccessFromEnvironment();
  const std::string url = access.endpoint.empty() ? fmt::format("https://{}.s3.{}.amazonaws.com{}",
                                                                place.substr(0, slash),
                                                                access.region, place.substr(slash))
                                                  : access.endpoint + "/" + place;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   curl_easy_cleanup);
  if (handle == nullptr) return Error{"libcurl does not work"};
  const std::string provider = fmt::format("aws:amz:{}:s3", access.region);
  const std::string user = access.key + ":" + access.secret;
  CURL* const curl = answer->curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider.c_str());
  curl_easy_setopt(curl, CURLOPT_USERPWD, user.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Collect);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
  // A storage that does not move for this long is gone; a large object may take any time.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  prepare(curl);
  const CURLcode done = curl_easy_perform(curl);
  if (done != CURLE_OK)
    return Error{fmt::format("cannot {} {}: {}", what, path, curl_easy_strerror(done))};
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
  return {};
}

Result<void> Succeeded(const std::string& path, const char* what, const Answer& answer) {
  if (answer.status >= 200 && answer.status < 300) return {};
  return Error{fmt::format("cannot {} {}: the storage answers {}: {}", what, path, answer.status,
                           answer.text.substr(0, 300))};
}

}  // namespace

S3Access S3AccessFromEnvironment() {
  return {.key = Variable("AWS_ACCESS_KEY_ID"),
          .secret = Variable("AWS_SECRET_ACCESS_KEY"),
          .region = Variable("AWS_REGION", "us-east-1"),
          .endpoint = Variable("AWS_ENDPOINT_URL")};
}

bool IsObjectPath(std::string_view path) { return path.starts_with(kScheme); }

Result<void> PutObject(const std::filesystem::path& file, const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  const File content = Open(file, "rb");
  if (error || content == nullptr) return base::ErrnoError("cannot read", file, errno);
  Answer answer;
  ROCHOUND_CHECK(Perform(path, "write", &answer, [&](CURL* curl) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READDATA, content.get());
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  }));
  return Succeeded(path, "write", answer);
}

Result<void> GetObject(const std::string& path, const std::filesystem::path& file) {
  const std::filesystem::path part = file.string() + ".part";
  File content = Open(part, "wb");
  if (content == nullptr) return base::ErrnoError("cannot write", part, errno);
  Answer answer;
  answer.file = content.get();
  const auto performed = Perform(path, "read", &answer, [](CURL*) {});
  const bool written = fclose(content.release()) == 0;
  auto done = performed.ok() ? Succeeded(path, "read", answer) : performed;
  std::error_code error;
  if (done.ok() && written) std::filesystem::rename(part, file, error);
  if (done.ok() && (!written || error))
    done = Error{fmt::format("cannot write {}; is the disk full?", file.string())};
  if (!done.ok()) std::filesystem::remove(part, error);
  return done;
}

Result<void> DeleteObject(const std::string& path) {
  Answer answer;
  ROCHOUND_CHECK(Perform(path, "remove", &answer, [](CURL* curl) {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
  }));
  return answer.status == 404 ? Result<void>{} : Succeeded(path, "remove", answer);
}

}  // namespace rochound::fleet
