// `zeroskid stat -I`: windows as a table for people, as perf stat -I's columns and JSON, and as the CSV files.
#pragma once

#include <string>
#include <vector>

#include "cli/values/estimate.h"
#include "cli/values/stat_metric.h"
#include "profile/windows/window_table.h"
#include "session/units/unit_sums.h"

namespace zs::cli {

enum class WindowFormat : std::uint8_t { Page, Columns, Json, Csv, HpctoolCsv };

class WindowPage {
 public:
  /// table      events and meta lines; rows come later
  /// metrics    over the table's events
  /// estimated  likewise; empty where nothing is an estimate
  /// separator  WindowFormat::Columns
  /// threads    Columns and Json name the thread, as with perf's --per-thread
  WindowPage(WindowFormat format, profile::WindowTable table, std::vector<StatMetric> metrics,
             EstimatedColumns estimated, std::string separator, bool threads);

  std::string head() const;
  /// Appends the window's row, or rows, to `text`.
  /// units  of the window; null where nothing is an estimate
  void add_row(const profile::Window& window, const session::UnitSums* units, std::string& text) const;

 private:
  /// What is known of a window's numbers.
  class Row;

  void add_page_row(const Row& row, std::string& text) const;
  std::string csv_row(const profile::Window& window, const session::UnitSums* units) const;
  std::string columns_row(const Row& row) const;
  std::string json_row(const Row& row) const;

  WindowFormat format_;
  profile::WindowTable table_;
  std::vector<std::size_t> widths_;  // of the events' columns on the page
  std::size_t room_of_values_ = 0;   // what the longest values take in a row
  std::vector<StatMetric> metrics_;
  EstimatedColumns estimated_;
  std::string separator_;
  bool threads_;
};

}  // namespace zs::cli
