// SPDX-License-Identifier: MIT
#include "fleet/lake/s3_object.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace rochound::fleet {
namespace {

using base::Error;

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

size_t Collect(char* data, size_t size, size_t count, void* text) {
  static_cast<std::string*>(text)->append(data, size * count);
  return size * count;
}

}  // namespace

base::Result<void> DeleteObject(const std::string& path) {
  constexpr std::string_view kScheme = "s3://";
  const std::string place =
      path.starts_with(kScheme) ? Escape(path.substr(kScheme.size())) : std::string();
  const std::string region = Variable("AWS_REGION", "us-east-1");
  const std::string endpoint = Variable("AWS_ENDPOINT_URL");
  const size_t slash = place.find('/');
  if (slash == std::string::npos) return Error{"'" + path + "' is no object"};
  const std::string url = endpoint.empty()
                              ? fmt::format("https://{}.s3.{}.amazonaws.com{}",
                                            place.substr(0, slash), region, place.substr(slash))
                              : endpoint + "/" + place;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   curl_easy_cleanup);
  if (handle == nullptr) return Error{"libcurl does not work"};
  const std::string provider = fmt::format("aws:amz:{}:s3", region);
  const std::string user = Variable("AWS_ACCESS_KEY_ID") + ":" + Variable("AWS_SECRET_ACCESS_KEY");
  std::string answer;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider.c_str());
  curl_easy_setopt(curl, CURLOPT_USERPWD, user.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Collect);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  const CURLcode done = curl_easy_perform(curl);
  if (done != CURLE_OK)
    return Error{fmt::format("cannot remove {}: {}", path, curl_easy_strerror(done))};
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if ((status < 200 || status >= 300) && status != 404)
    return Error{fmt::format("cannot remove {}: the storage answers {}: {}", path, status,
                             answer.substr(0, 300))};
  return {};
}

}  // namespace rochound::fleet
