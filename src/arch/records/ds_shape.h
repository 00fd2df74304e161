// What a reader of a Debug Store has to know of the processor that wrote it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/cpu_model.h"
#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"
#include "base/bytes.h"

namespace zs::arch {

struct DsShape {
  DsLayout layout = DsLayout::Words64;
  PebsFormat format = PebsFormat::V3;
  std::uint8_t general_slots = 8;                // reset values of general counters
  std::uint8_t fixed_slot = 8, fixed_slots = 0;  // slot of FIXED_CTR0, and how many fixed counters have one
};
static_assert(WireLayout<DsShape> && sizeof(DsShape) == 5);

constexpr DsShape ds_shape(const CpuModel& model, DsLayout layout) {
  DsShape shape{.layout = layout, .format = model.pebs_format(), .general_slots = model.reset_slots};
  if (model.pebs_baseline()) {
    shape.fixed_slot = static_cast<std::uint8_t>(model.fixed_reset_slot());
    shape.fixed_slots = model.fixed_counters;
  }
  return shape;
}

/// Bytes of the management area up to its last reset value.
constexpr std::size_t ds_area_bytes(const DsShape& shape) {
  const unsigned slots =
      shape.fixed_slots != 0 ? unsigned{shape.fixed_slot} + shape.fixed_slots : unsigned{shape.general_slots};
  return ds_reset_slot_offset(slots, shape.layout);
}

}  // namespace zs::arch
