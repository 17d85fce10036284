// SPDX-License-Identifier: MIT
#include "fleet/metrics/otlp.h"

#include <opentelemetry/exporters/otlp/otlp_http_metric_exporter.h>
#include <opentelemetry/exporters/otlp/otlp_http_metric_exporter_options.h>
#include <opentelemetry/sdk/common/global_log_handler.h>
#include <opentelemetry/sdk/instrumentationscope/instrumentation_scope.h>
#include <opentelemetry/sdk/metrics/data/metric_data.h>
#include <opentelemetry/sdk/metrics/export/metric_producer.h>
#include <opentelemetry/sdk/resource/resource.h>

#include <chrono>
#include <map>
#include <utility>

namespace rochound::fleet {
namespace {

namespace metrics = opentelemetry::sdk::metrics;
namespace otlp = opentelemetry::exporter::otlp;
using opentelemetry::common::SystemTimestamp;
using opentelemetry::sdk::instrumentationscope::InstrumentationScope;
using opentelemetry::sdk::resource::Resource;

metrics::PointAttributes AttributesOf(const RankKey& key, const std::string& tenant,
                                      const std::string& quantile) {
  metrics::PointAttributes attributes;
  attributes.SetAttribute("tenant", tenant);
  attributes.SetAttribute("job", key.job);
  attributes.SetAttribute("host", key.host);
  attributes.SetAttribute("rank", std::to_string(key.rank));
  if (!quantile.empty()) attributes.SetAttribute("quantile", quantile);
  return attributes;
}

metrics::PointType PointOf(const MetricPoint& point, SystemTimestamp now) {
  if (point.kind == MetricPoint::Kind::kCounter) {
    metrics::SumPointData sum;
    sum.value_ = point.value;
    sum.is_monotonic_ = true;
    return sum;
  }
  metrics::LastValuePointData last;
  last.value_ = point.value;
  last.is_lastvalue_valid_ = true;
  last.sample_ts_ = now;
  return last;
}

metrics::PointType PointOf(const Histogram& histogram) {
  metrics::Base2ExponentialHistogramPointData point;
  point.sum_ = static_cast<double>(histogram.sum());
  point.min_ = static_cast<double>(histogram.min());
  point.max_ = static_cast<double>(histogram.max());
  point.count_ = histogram.count();
  point.zero_count_ = histogram.zeros();
  point.max_buckets_ = Histogram::kMostBuckets;
  point.scale_ = histogram.scale();
  point.positive_buckets_ =
      std::make_unique<metrics::AdaptingCircularBufferCounter>(Histogram::kMostBuckets);
  point.negative_buckets_ = std::make_unique<metrics::AdaptingCircularBufferCounter>(1);
  const auto& buckets = histogram.buckets();
  for (size_t i = 0; i < buckets.size(); ++i)
    if (buckets[i] != 0)
      point.positive_buckets_->Increment(histogram.offset() + static_cast<int32_t>(i), buckets[i]);
  return point;
}

}  // namespace

struct OtlpSender::State {
  std::unique_ptr<otlp::OtlpHttpMetricExporter> exporter;
  Resource resource = Resource::Create({{"service.name", "rochound"}});
  std::unique_ptr<InstrumentationScope> scope = InstrumentationScope::Create("rochound");
  std::string tenant;
  SystemTimestamp start{std::chrono::system_clock::now()};
};

OtlpSender::OtlpSender(const std::string& url, std::string tenant)
    : state_(std::make_unique<State>()) {
  // What went wrong is told by Send.
  opentelemetry::sdk::common::internal_log::GlobalLogHandler::SetLogLevel(
      opentelemetry::sdk::common::internal_log::LogLevel::None);
  state_->tenant = std::move(tenant);
  otlp::OtlpHttpMetricExporterOptions options;
  options.url = url;
  options.content_type = otlp::HttpRequestContentType::kBinary;
  options.timeout = std::chrono::seconds(10);
  options.aggregation_temporality = otlp::PreferredAggregationTemporality::kCumulative;
  state_->exporter = std::make_unique<otlp::OtlpHttpMetricExporter>(options);
}

OtlpSender::~OtlpSender() = default;

base::Result<void> OtlpSender::Send(const std::vector<RankSeries>& series) {
  if (series.empty()) return {};
  const SystemTimestamp now{std::chrono::system_clock::now()};
  // One metric with all ranks' points.
  std::map<std::string, metrics::MetricData> by_name;
  const auto metric = [&](const std::string& name, const char* unit, const char* about,
                          metrics::InstrumentType type) -> metrics::MetricData& {
    auto [place, is_new] = by_name.try_emplace(name);
    metrics::MetricData& data = place->second;
    if (is_new) {
      data.instrument_descriptor = {name, about, unit, type, metrics::InstrumentValueType::kDouble};
      data.aggregation_temporality = metrics::AggregationTemporality::kCumulative;
      data.start_ts = state_->start;
      data.end_ts = now;
    }
    return data;
  };
  for (const RankSeries& rank : series) {
    for (const MetricPoint& point : rank.points)
      metric(point.name, point.unit, point.about,
             point.kind == MetricPoint::Kind::kCounter ? metrics::InstrumentType::kObservableCounter
                                                       : metrics::InstrumentType::kObservableGauge)
          .point_data_attr_.push_back(
              {AttributesOf(rank.key, state_->tenant, point.quantile), PointOf(point, now)});
    if (rank.ns.count() != 0)
      metric(kHistogramName, "ns", "Times of kernel launches", metrics::InstrumentType::kHistogram)
          .point_data_attr_.push_back(
              {AttributesOf(rank.key, state_->tenant, ""), PointOf(rank.ns)});
  }
  std::vector<metrics::MetricData> all;
  for (auto& [name, data] : by_name) all.push_back(std::move(data));
  metrics::ResourceMetrics message;
  message.resource_ = &state_->resource;
  message.scope_metric_data_.emplace_back(state_->scope.get(), std::move(all));
  if (state_->exporter->Export(message) != opentelemetry::sdk::common::ExportResult::kSuccess)
    return base::Error{"the server of metrics did not take them; they are sent again"};
  return {};
}

}  // namespace rochound::fleet
