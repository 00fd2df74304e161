// How far the software PMU's counts were found to be from those of this machine's own PMU (`zeroskid calibrate`): kept
// below the user's cache, shown by `list -v`. docs/formats/list-json.md has the field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/list/list_page.h"

namespace zs::cli {

struct KnownError {
  std::string cpu, model, event;
  double percent = 0;
  std::string date, program;
  bool operator==(const KnownError&) const = default;
};
/// "" where there is no place for it.
std::string calibration_file();

/// Lines that are none are passed over. Empty where there is no file.
std::vector<KnownError> kept_errors(const std::string& file);

/// Of an event that is there already the new error takes the place of the old one. The file is whole at any time.
Result<void> keep_errors(const std::string& file, const std::vector<KnownError>& errors);

/// Fills in what is known of events of this model on this processor.
void show_errors(const std::vector<KnownError>& known, std::string_view cpu, std::string_view model,
                 std::vector<ListedEvent>& events);

}  // namespace zs::cli
