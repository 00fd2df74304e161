// Types, variables and pointers of an image whose debug information may say anything: all that a report asks about each
// of its instructions ends, and what it answers fits together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "isa/register_flow.h"
#include "profile/types/data_types.h"
#include "profile/types/field_order.h"
#include "profile/types/function_variables.h"
#include "profile/types/pointer_flow.h"
#include "profile/types/test_debug_image.h"

namespace {

using namespace zs::profile;

/// Of a larger image, enough: every answer costs what the type is deep.
constexpr std::size_t kMostInsns = 200;
constexpr std::size_t kMostOffsets = 64;

void ask_about(DataTypes& types, DataTypes::Type type) {
  const std::uint64_t size = types.size_of(type);
  CHECK(size != 0);
  CHECK(!types.name_of(type).empty());
  for (std::uint64_t offset = 0; offset < std::min<std::uint64_t>(size, kMostOffsets); ++offset) {
    const Member member = types.member_at(type, offset);
    CHECK(member.offset <= offset && offset - member.offset < member.size, offset, member.offset, member.size);
    (void)types.pointee_at(type, offset);
    (void)types.array_element_at(type, offset);
  }
  for (const std::int64_t offset : {std::int64_t{-1}, INT64_MIN, INT64_MAX, std::int64_t{12345}}) {
    const DataTypes::Spot spot = types.spot_at(type, offset);
    CHECK(spot.type == 0 || spot.offset < types.size_of(spot.type), spot.offset);
  }
  (void)types.fields_of(type, DataTypes::Depth::Fields);
  Visits visits;
  visits.add({0, 0}, 0, 0, {.loads = 10, .stores = 1});
  const FieldOrder order = best_order(types.fields_of(type, DataTypes::Depth::Members), size, visits);
  CHECK(order.size_after <= order.size_before);
}

void ask_about(DataTypes& types, FunctionTable& functions, PointerFlow& flow, const Symbol& symbol) {
  const zs::Bytes code = types.image().code(symbol.start, symbol.size());
  const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(code.data()), code.size()};
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes.size() && count < kMostInsns; ++count) {
    const auto insn = zs::isa::decode_flow(value(symbol.start) + at, bytes.subspan(at));
    if (!insn) return;
    const ImageAddress pc{insn->insn.pc};
    for (std::size_t i = 0; i < insn->insn.memory_count; ++i) {
      const auto part = flow.part_of(pc, insn->insn.memory[i], insn->insn.next());
      if (part && types.size_of(part->type) != 0) (void)types.member_at(part->type, part->offset);
    }
    (void)functions.frame_at(pc);
    at += insn->insn.length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = testing::DebugImage::open({reinterpret_cast<const char*>(data), size});
  if (image == nullptr) return 0;
  DataTypes types(*image);
  FunctionTable functions(types);
  PointerFlow flow(types, functions);
  constexpr std::size_t kMostSymbols = 16;
  std::size_t asked = 0;
  for (const Symbol& symbol : image->symbols().symbols()) {
    if (symbol.code && ++asked <= kMostSymbols) ask_about(types, functions, flow, symbol);
    if (!symbol.code) (void)types.variable_at(symbol.start);
  }
  for (std::int64_t offset = -64; offset < 0; ++offset) {
    if (const auto at = image->thread_offset(offset)) (void)types.thread_variable_at(*at);
  }
  constexpr DataTypes::Type kMostTypes = 64;
  for (DataTypes::Type type = 1; type <= kMostTypes && types.size_of(type) != 0; ++type) ask_about(types, type);
  return 0;
}
