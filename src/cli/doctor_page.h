// What `zeroskid doctor` prints: a page for people, and JSON (docs/formats/doctor-json.md) for programs.
#pragma once

#include <string>

#include "host/diagnosis.h"

namespace zs::cli {

std::string doctor_page(const host::MachineFacts& facts, const host::Diagnosis& diagnosis);

/// One JSON object, indented, with a newline at the end.
std::string doctor_json(const host::MachineFacts& facts, const host::Diagnosis& diagnosis);

}  // namespace zs::cli
