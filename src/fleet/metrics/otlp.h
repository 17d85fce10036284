// SPDX-License-Identifier: MIT
//
// Sends series by OTLP over HTTP, with OpenTelemetry's own exporter. Everything is cumulative, so
// what could not be sent is in what is sent next. One thread; a server that is away costs the time
// limit of one request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/metrics/rank_metrics.h"

namespace rochound::fleet {

class OtlpSender {
 public:
  // url: of metrics, such as http://host:8428/opentelemetry/v1/metrics.
  OtlpSender(const std::string& url, std::string tenant);
  ~OtlpSender();
  OtlpSender(const OtlpSender&) = delete;
  OtlpSender& operator=(const OtlpSender&) = delete;

  base::Result<void> Send(const std::vector<RankSeries>& series);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rochound::fleet
