#include "profile/perf_data/write_units.h"

#include <cstring>
#include <utility>

#include "arch/records/bts.h"
#include "profile/perf_data/compressed_records.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {

using perf::RecordType;

std::vector<WriteUnit> write_units(Bytes records) {
  std::vector<WriteUnit> units;
  for (std::uint64_t at = 0; at < records.size();) {
    perf::RecordHeader record;
    std::memcpy(&record, records.data() + at, sizeof record);
    WriteUnit unit{.end = at + record.size};
    if (record.type == static_cast<std::uint32_t>(RecordType::Auxtrace)) {
      const std::uint64_t behind = bytes_behind_record(records.subspan(at, record.size));
      unit.trace = {.offset = at, .bytes = record.size};
      unit.branches = arch::branches_in(records.subspan(unit.end, behind));
      unit.end += behind;
    }
    unit.samples = record.type == static_cast<std::uint32_t>(RecordType::Sample) ? 1 : 0;
    at = unit.end;
    units.push_back(unit);
  }
  return units;
}

ByteWriter packed_apart_from_traces(Bytes records, RecordPacker& packer, std::vector<WriteUnit>& units) {
  ByteWriter plain, out, traces;
  std::vector<WriteUnit> packed(1);
  std::uint64_t at = 0;
  for (const WriteUnit& unit : units) {
    const std::uint64_t begin = std::exchange(at, unit.end);
    packed.front().samples += unit.samples;
    (unit.trace ? traces : plain).write_bytes(records.subspan(begin, unit.end - begin));
    if (!unit.trace) continue;
    WriteUnit& moved = packed.emplace_back(unit);
    moved.trace->offset = traces.size() - (unit.end - begin);
    moved.end = traces.size();
  }
  packer.pack(plain.bytes(), out);
  packed.front().end = out.size();
  for (WriteUnit& unit : packed) {
    if (!unit.trace) continue;
    unit.trace->offset += out.size();
    unit.end += out.size();
  }
  out.write_bytes(traces.bytes());
  units = std::move(packed);
  return out;
}

}  // namespace zs::profile
