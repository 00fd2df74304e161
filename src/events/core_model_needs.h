// Why an event of the vendor's list has no number here: the part of the core model that it would need.
#pragma once

#include <string_view>

namespace zs::session {

/// "caches", "TLBs", "branch predictor", "transactional memory", "cycles", "kinds of instructions", "values of
/// operands", "interrupts" or "instruction-based sampling".
/// event  a name as EVENT.UMASK, in any case
std::string_view core_model_part_of(std::string_view event);

}  // namespace zs::session
