// A table of windows as one text, as a run writes it piece by piece.
#pragma once

#include <string>

#include "profile/windows/window_table.h"

namespace zs::profile {

inline std::string window_csv(const WindowTable& table) {
  std::string out = window_csv_head(table);
  for (const Window& window : table.windows) out += window_csv_row(table, window);
  for (const RegionSpan& region : table.regions) out += window_csv_region(region);
  return out;
}

}  // namespace zs::profile
