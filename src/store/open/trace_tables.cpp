// SPDX-License-Identifier: MIT
#include "store/open/trace_tables.h"

#include <array>
#include <tuple>
#include <type_traits>

#include "store/open/duck.h"

namespace rochound::store {
namespace {

template <typename Value>
constexpr const char* TypeOf() {
  if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, std::string_view>)
    return "VARCHAR";
  else if constexpr (std::is_same_v<Value, double>)
    return "DOUBLE";
  else
    return "BIGINT";
}

template <typename Row, typename Value>
constexpr TraceColumn Describe(const Column<Row, Value>& column) {
  return {column.name, TypeOf<Value>(), column.role};
}

template <typename Row>
constexpr auto MakeColumns() {
  return std::apply(
      [](const auto&... column) {
        if constexpr (Row::kTable.key != nullptr)
          return std::array{TraceColumn{Row::kTable.key, TypeOf<int64_t>(), Row::kTable.key_role},
                            Describe(column)...};
        else
          return std::array{Describe(column)...};
      },
      Row::kColumns);
}

template <typename Row>
constexpr auto kColumnsOf = MakeColumns<Row>();

template <typename Row>
constexpr TraceTable Describe() {
  constexpr const TableHead& kTable = Row::kTable;
  return {kTable.name, kColumnsOf<Row>, kTable.order, kTable.of_process ? kTable.key : nullptr};
}

#define DESCRIBE(Row) Describe<Row>(),
constexpr TraceTable kTables[] = {ROCHOUND_TRACE_ROWS(DESCRIBE)};
#undef DESCRIBE

}  // namespace

std::span<const TraceTable> TraceTables() { return kTables; }

const TraceTable* FindTraceTable(std::string_view name) {
  for (const TraceTable& table : kTables)
    if (name == table.name) return &table;
  return nullptr;
}

std::string ColumnDefinitions(const TraceTable& table) {
  std::string text;
  for (const TraceColumn& column : table.columns)
    text += (text.empty() ? "" : ", ") + duck::Identifier(column.name) + " " + column.type;
  return text;
}

std::string ColumnNames(const TraceTable& table) {
  std::string text;
  for (const TraceColumn& column : table.columns)
    text += (text.empty() ? "" : ", ") + duck::Identifier(column.name);
  return text;
}

std::string CreateTable(const std::string& schema, const TraceTable& table) {
  return "CREATE TABLE " + duck::Identifier(schema) + "." + duck::Identifier(table.name) + " (" +
         ColumnDefinitions(table) + ");\n";
}

std::string CreateTables(const std::string& schema) {
  std::string text;
  for (const TraceTable& table : kTables) text += CreateTable(schema, table);
  return text;
}

}  // namespace rochound::store
