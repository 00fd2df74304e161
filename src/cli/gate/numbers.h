// Counts and what changed of them, spelled for people.
#pragma once

#include <string>

namespace zs::cli {

/// "1,234,567"; of what is no whole number "12.34"
std::string count_text(double count);
/// "+1,234", "-5", "0"
std::string difference_text(double difference);
/// "+99.6 %", "-0.0012 %", "0 %": never 0 of what is not.
std::string percent_text(double percent);

}  // namespace zs::cli
