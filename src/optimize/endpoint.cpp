// SPDX-License-Identifier: MIT
#include "optimize/endpoint.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/printable.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;

constexpr long kConnectLimitMs = 30'000;

// The functions of libcurl that are used. It is loaded when somebody asks a model: it brings two
// dozen libraries with it, and TLS with the certificates of its own distribution.
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_set) url_set;
  decltype(&curl_url_get) url_get;
  decltype(&curl_free) free;
};

constexpr const char* kNoCurl =
    "libcurl.so.4 (7.62 or newer), which asks models, was not found. Install it (Debian: "
    "libcurl4t64 "
    "or libcurl4; elsewhere: libcurl)";

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT
  return *function != nullptr;
}

std::optional<Curl> LoadCurl() {
  void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Curl curl{};
  const bool complete = Find(library, "curl_global_init", &curl.global_init) &&
                        Find(library, "curl_easy_init", &curl.easy_init) &&
                        Find(library, "curl_easy_cleanup", &curl.easy_cleanup) &&
                        Find(library, "curl_easy_setopt", &curl.easy_setopt) &&
                        Find(library, "curl_easy_perform", &curl.easy_perform) &&
                        Find(library, "curl_easy_getinfo", &curl.easy_getinfo) &&
                        Find(library, "curl_easy_strerror", &curl.easy_strerror) &&
                        Find(library, "curl_slist_append", &curl.slist_append) &&
                        Find(library, "curl_slist_free_all", &curl.slist_free_all) &&
                        Find(library, "curl_url", &curl.url) &&
                        Find(library, "curl_url_cleanup", &curl.url_cleanup) &&
                        Find(library, "curl_url_set", &curl.url_set) &&
                        Find(library, "curl_url_get", &curl.url_get) &&
                        Find(library, "curl_free", &curl.free);
  if (!complete || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return std::nullopt;
  return curl;
}

// nullptr: there is none.
const Curl* LoadedCurl() {
  static const std::optional<Curl> loaded = LoadCurl();
  return loaded ? &*loaded : nullptr;
}

std::string PartOf(const Curl& curl, CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl.url_get(url, part, &text, 0) != CURLUE_OK || text == nullptr) return {};
  std::string value = text;
  curl.free(text);
  return value;
}

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

bool HasControls(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
}

struct Received {
  std::string body;
  bool too_much = false;
};

size_t Receive(const char* data, size_t size, size_t count, void* user) {
  Received& received = *static_cast<Received*>(user);
  const size_t bytes = size * count;
  if (received.body.size() + bytes > kMostAnswer) {
    received.too_much = true;
    return 0;  // ends the transfer
  }
  received.body.append(data, bytes);
  return bytes;
}

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<Endpoint> TakeEndpoint() {
  Endpoint endpoint;
  endpoint.url = Variable("ROCHOUND_LLM_URL");
  endpoint.model = Variable("ROCHOUND_LLM_MODEL");
  constexpr const char* kKey = "ROCHOUND_LLM_KEY";
  if (char* const key = getenv(kKey)) {
    endpoint.key = key;
    // /proc/PID/environ shows the place where it was, whatever unsetenv does.
    memset(key, 'x', strlen(key));
    unsetenv(kKey);
  }
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  if (endpoint.url.empty() || endpoint.model.empty())
    return Error{
        "which model is asked? ROCHOUND_LLM_URL=http://localhost:8080/v1 and "
        "ROCHOUND_LLM_MODEL=name say it, and ROCHOUND_LLM_KEY has the key, if one is needed"};
  if (const std::string problem = ProblemWith(endpoint); !problem.empty()) return Error{problem};
  return endpoint;
}

std::string ProblemWith(const Endpoint& endpoint) {
  const Curl* const curl = LoadedCurl();
  if (curl == nullptr) return kNoCurl;
  const std::unique_ptr<CURLU, decltype(curl->url_cleanup)> url(curl->url(), curl->url_cleanup);
  if (HasControls(endpoint.url) ||
      curl->url_set(url.get(), CURLUPART_URL, endpoint.url.c_str(), 0) != CURLUE_OK)
    return "ROCHOUND_LLM_URL is no address such as http://localhost:8080/v1";
  const std::string scheme = PartOf(*curl, url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    return fmt::format("ROCHOUND_LLM_URL begins with '{}', and not with http or https",
                       base::Printable(scheme));
  if (!PartOf(*curl, url.get(), CURLUPART_USER).empty() ||
      !PartOf(*curl, url.get(), CURLUPART_PASSWORD).empty())
    return "ROCHOUND_LLM_URL holds a password, which would be kept in the journal; "
           "ROCHOUND_LLM_KEY is the place for it";
  if (!PartOf(*curl, url.get(), CURLUPART_QUERY).empty() ||
      !PartOf(*curl, url.get(), CURLUPART_FRAGMENT).empty())
    return "ROCHOUND_LLM_URL ends where /chat/completions is added: without ? and #";
  if (HasControls(endpoint.key)) return "ROCHOUND_LLM_KEY holds characters that no key has";
  if (!endpoint.key.empty() && scheme == "http" &&
      !IsThisMachine(PartOf(*curl, url.get(), CURLUPART_HOST)))
    return "the key would travel unencrypted: ROCHOUND_LLM_URL has to begin with https";
  return {};
}

std::string WithoutKey(const Endpoint& endpoint, std::string text) {
  if (endpoint.key.empty()) return text;
  constexpr std::string_view kInstead = "[key]";
  for (size_t at = 0; (at = text.find(endpoint.key, at)) != std::string::npos;
       at += kInstead.size())
    text.replace(at, endpoint.key.size(), kInstead);
  return text;
}

Result<std::string> Post(const Endpoint& endpoint, const std::string& body,
                         std::chrono::milliseconds limit) {
  const Curl* const curl = LoadedCurl();
  if (curl == nullptr) return Error{kNoCurl};
  const std::unique_ptr<CURL, decltype(curl->easy_cleanup)> easy(curl->easy_init(),
                                                                 curl->easy_cleanup);
  if (!easy) return Error{"libcurl cannot be used"};
  const auto set = [&](CURLoption option, auto value) {
    return curl->easy_setopt(easy.get(), option, value) == CURLE_OK;
  };
  std::unique_ptr<curl_slist, decltype(curl->slist_free_all)> headers(nullptr,
                                                                      curl->slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* const more = curl->slist_append(headers.get(), line.c_str());
    if (more == nullptr) return false;
    static_cast<void>(headers.release());
    headers.reset(more);
    return true;
  };
  Received received;
  char reason[CURL_ERROR_SIZE] = "";
  const std::string url = endpoint.url + "/chat/completions";
  // "Expect:" leaves that header out: small servers do not answer it.
  bool ready = add("Content-Type: application/json") && add("Expect:");
  if (!endpoint.key.empty()) ready = ready && add("Authorization: Bearer " + endpoint.key);
  ready = ready && set(CURLOPT_URL, url.c_str()) && set(CURLOPT_FOLLOWLOCATION, 0L) &&
          set(CURLOPT_NETRC, long{CURL_NETRC_IGNORED}) && set(CURLOPT_HTTPHEADER, headers.get()) &&
          set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) &&
          set(CURLOPT_POSTFIELDS, body.c_str()) && set(CURLOPT_WRITEFUNCTION, &Receive) &&
          set(CURLOPT_WRITEDATA, static_cast<void*>(&received)) &&
          set(CURLOPT_ERRORBUFFER, &reason[0]) && set(CURLOPT_NOSIGNAL, 1L) &&
          set(CURLOPT_CONNECTTIMEOUT_MS, kConnectLimitMs) &&
          set(CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
  // An option of libcurl 7.85. Older ones do without: ProblemWith has refused other schemes.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  if (!ready) return Error{"libcurl does not take the request"};
  const CURLcode result = curl->easy_perform(easy.get());
  if (received.too_much)
    return Error{fmt::format("the answer has more than {} bytes and was not read", kMostAnswer)};
  if (result != CURLE_OK) {
    return Error{WithoutKey(endpoint,
                            fmt::format("{}: {}", endpoint.url,
                                        reason[0] != '\0' ? reason : curl->easy_strerror(result)))};
  }
  long status = 0;
  curl->easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return std::move(received.body);
  constexpr size_t kShown = 200;
  return Error{WithoutKey(endpoint, fmt::format("{} answered {}: {}", endpoint.url, status,
                                                base::Printable(received.body.substr(0, kShown))))};
}

}  // namespace rochound::optimize
