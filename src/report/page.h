// SPDX-License-Identifier: MIT
//
// The report's front end, as web/ was bundled when this program was built. Constant data.
#pragma once

#include <string_view>

namespace rochound::report {

struct Page {
  std::string_view script, style;
  // base64 of their SHA-256, by which the page's policy allows them and nothing else.
  std::string_view script_hash, style_hash;
};

Page ReportPage();

}  // namespace rochound::report
