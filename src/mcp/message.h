// SPDX-License-Identifier: MIT
//
// Messages of JSON-RPC 2.0 as the Model Context Protocol sends them: one JSON object per line. The
// server takes lines apart and puts answers together with this. Pure, any thread. Whatever bytes
// come in, the result is a message or the error that is to be answered; nothing throws, and what is
// kept is no larger than the line.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rochound::mcp {

using Json = nlohmann::ordered_json;

// Error codes of JSON-RPC and of the Model Context Protocol.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kUnsupportedVersion = -32022;

// What a client may send; more is answered with an error.
inline constexpr size_t kMostLine = size_t{1} << 20;
inline constexpr int kMostDepth = 64;
inline constexpr size_t kMostId = 256;  // bytes of an id, which every answer repeats

struct Message {
  enum class Kind { kRequest, kNotification, kResponse, kInvalid };

  Kind kind = Kind::kInvalid;
  Json id;             // a text or an integer; null: there is none, or it cannot be repeated
  std::string method;  // of requests and notifications
  Json params;         // an object
  int code = 0;        // of an invalid one
  std::string problem;
};

Message ParseMessage(std::string_view line);

// Lines without their end. An error without an id answers what had no usable one.
std::string ResultLine(const Json& id, const Json& result);
std::string ErrorLine(const Json& id, int code, const std::string& message,
                      const Json& data = nullptr);
std::string NotificationLine(const std::string& method, const Json& params);

// A text or an integer, as ids and progress tokens are.
bool IsToken(const Json& value);

// Cuts a stream of bytes into lines. A line that is longer than kMostLine is dropped while it comes
// in.
class LineSplitter {
 public:
  // use: called with each complete line that is not empty, and with nullptr in the place of one
  // that was too long.
  void Take(std::string_view bytes, const std::function<void(const std::string* line)>& use);

 private:
  std::string line_;
  bool dropping_ = false;
};

}  // namespace rochound::mcp
