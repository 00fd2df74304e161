#include "report/text/raw_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "arch/ibs.h"
#include "arch/records/ds_excerpt.h"
#include "arch/records/skid_note.h"
#include "base/bytes.h"
#include "profile/perf_data/event_attr.h"

namespace zs::report {

using profile::PerfDataReader;
using profile::SampleRecord;

namespace {

constexpr int kNameWidth = 12;  // of a register

template <typename Register>
std::string register_text(std::string_view name, std::uint64_t raw, int width = kNameWidth) {
  std::string line = fmt::format("  {:<{}}{:016x}", name, width, raw);
  Register{raw}.for_each_set_field(
      [&](const char* field, int, std::uint64_t value) { line += fmt::format(" {}={}", field, value); });
  return line + '\n';
}

std::string address_text(std::string_view name, std::uint64_t value, int width = kNameWidth) {
  return fmt::format("  {:<{}}{:016x}\n", name, width, value);
}

/// What a kernel gives of a sampled fetch; "" if it is not that.
std::string ibs_fetch_text(Bytes raw) {
  constexpr std::size_t kRegisters = 4;
  constexpr int kWidth = 16;
  ByteReader in{raw};
  const auto capabilities = in.read<std::uint32_t>();
  const auto values = in.read_array<std::uint64_t>(kRegisters);
  if (!in.ok() || values.size() != kRegisters) return "";
  return fmt::format("fetch sample, capabilities {:x}\n", capabilities) +
         register_text<arch::IbsFetchCtl>("IbsFetchCtl", values[0], kWidth) +
         address_text("IbsFetchLinAd", values[1], kWidth) + address_text("IbsFetchPhysAd", values[2], kWidth) +
         register_text<arch::IbsFetchCtlExtd>("IbsFetchCtlExtd", values[3], kWidth);
}

/// What a kernel gives of a sampled op; "" if it is not that.
std::string ibs_op_text(Bytes raw) {
  constexpr std::size_t kRegisters = 8;
  ByteReader in{raw};
  const auto capabilities = in.read<std::uint32_t>();
  const auto values = in.read_array<std::uint64_t>(kRegisters);
  if (!in.ok() || values.size() != kRegisters) return "";
  std::string text = fmt::format("op sample, capabilities {:x}\n", capabilities);
  text += register_text<arch::IbsOpCtl>("IbsOpCtl", values[0]);
  text += address_text("IbsOpRip", values[1]);
  text += register_text<arch::IbsOpData>("IbsOpData", values[2]);
  text += register_text<arch::IbsOpData2>("IbsOpData2", values[3]);
  text += register_text<arch::IbsOpData3>("IbsOpData3", values[4]);
  text += address_text("IbsDcLinAd", values[5]) + address_text("IbsDcPhysAd", values[6]) +
          address_text("IbsBrTarget", values[7]);
  return text;
}

}  // namespace

Result<void> raw_text(const PerfDataReader& reader, const std::function<void(std::string_view)>& out) {
  const bool any = std::ranges::any_of(reader.events(), [](const PerfDataReader::Event& event) {
    return (event.attr.sample_type & profile::perf::sample_field::raw) != 0;
  });
  if (!any) return Error{reader.name() + ": its samples hold no raw records", "record with -R (--raw-samples)"};
  std::uint64_t number = 0;
  reader.for_each(PerfDataReader::Order::Time, [&](const profile::Record& record) {
    const auto* const found = std::get_if<SampleRecord>(&record);
    if (found == nullptr) return;
    const session::Sample& sample = found->sample;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    out(fmt::format("sample {}: {} of {}/{} at {}.{:09}\n", number++, reader.events()[sample.event].name, sample.pid,
                    sample.tid, sample.time_ns / kSecond, sample.time_ns % kSecond));
    const std::uint32_t type = reader.events()[sample.event].attr.type;
    const std::string ibs = type == profile::kIbsOpType      ? ibs_op_text(sample.raw)
                            : type == profile::kIbsFetchType ? ibs_fetch_text(sample.raw)
                                                             : "";
    if (!ibs.empty()) {
      out(ibs);
    } else if (const auto excerpt = arch::read_excerpt(sample.raw)) {
      out(arch::excerpt_text(*excerpt));
    } else if (const auto note = arch::read_skid_note(sample.raw)) {
      out(fmt::format("skid: overflowed at {:x}, {} instructions before what is shown\n", note->ip,
                      note->instructions));
    } else if (std::ranges::all_of(sample.raw, [](std::byte b) { return b == std::byte{0}; })) {
      out("no record: an overflow interrupt made this sample\n");
    } else {
      out(fmt::format("{} bytes of raw data that are no PEBS record of zeroskid's\n", sample.raw.size()));
    }
  });
  return {};
}

}  // namespace zs::report
