#include "arch/records/ds_excerpt.h"

#include "arch/records/ds_text.h"

namespace zs::arch {

std::optional<DsExcerpt> read_excerpt(Bytes bytes) {
  ByteReader in(bytes);
  DsExcerpt excerpt{.head = in.read<DsExcerptHead>()};
  const DsExcerptHead& head = excerpt.head;
  if (head.magic != DsExcerptHead::kMagic || head.shape.layout > DsLayout::Words64) return std::nullopt;
  if (find_pebs_format(head.shape.format) == nullptr) return std::nullopt;
  excerpt.area = in.take(head.area_bytes);
  excerpt.record = in.take(head.record_bytes);
  if (!in.ok()) return std::nullopt;
  if (head.area_bytes != 0 && head.area_bytes != ds_area_bytes(head.shape)) return std::nullopt;
  return excerpt;
}

std::string excerpt_text(const DsExcerpt& excerpt) {
  const DsExcerptHead& head = excerpt.head;
  std::string text;
  if (!excerpt.area.empty()) text += ds_area_text(head.shape, head.area, excerpt.area);
  text += pebs_record_text(head.shape, head.record, excerpt.record);
  return text;
}

}  // namespace zs::arch
