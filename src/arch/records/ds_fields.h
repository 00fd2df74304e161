// The names of what a Debug Store holds: for each structure of ds_area.h, bts.h and pebs.h its fields, in their order.
// What prints a record, and what reads one, take places and sizes from the same structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/records/bts.h"
#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"

namespace zs::arch {

struct RecordField {
  std::size_t offset;
  std::string_view name;
};

/// Whether the fields are all words of a T, from its first byte to its last.
template <typename T, typename Word = std::uint64_t>
constexpr bool names_every_word(std::span<const RecordField> fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].offset != i * sizeof(Word)) return false;
  }
  return fields.size() * sizeof(Word) == sizeof(T);
}

// clang-format off
inline constexpr RecordField kBufferFields[] = {
    {offsetof(DsBuffer, base),    "base"},    {offsetof(DsBuffer, index),     "index"},
    {offsetof(DsBuffer, maximum), "maximum"}, {offsetof(DsBuffer, threshold), "threshold"}};
inline constexpr RecordField kBtsFields[] = {
    {offsetof(BtsRecord, from), "from"}, {offsetof(BtsRecord, to), "to"}, {offsetof(BtsRecord, flags), "flags"}};

inline constexpr RecordField kPebs32Fields[] = {
    {offsetof(Pebs32, flags), "EFLAGS"}, {offsetof(Pebs32, ip), "EIP"}, {offsetof(Pebs32, ax), "EAX"},
    {offsetof(Pebs32, bx), "EBX"},       {offsetof(Pebs32, cx), "ECX"}, {offsetof(Pebs32, dx), "EDX"},
    {offsetof(Pebs32, si), "ESI"},       {offsetof(Pebs32, di), "EDI"}, {offsetof(Pebs32, bp), "EBP"},
    {offsetof(Pebs32, sp), "ESP"}};

/// Formats 0 to 3: an older record is a prefix. The word at 90H of format 3 is called by kCountersField.
inline constexpr RecordField kPebsFields[] = {
    {offsetof(RegisterFile, flags), "RFLAGS"}, {offsetof(RegisterFile, ip), "RIP"},
    {offsetof(RegisterFile, ax), "RAX"},       {offsetof(RegisterFile, bx), "RBX"},
    {offsetof(RegisterFile, cx), "RCX"},       {offsetof(RegisterFile, dx), "RDX"},
    {offsetof(RegisterFile, si), "RSI"},       {offsetof(RegisterFile, di), "RDI"},
    {offsetof(RegisterFile, bp), "RBP"},       {offsetof(RegisterFile, sp), "RSP"},
    {offsetof(RegisterFile, r8), "R8"},        {offsetof(RegisterFile, r9), "R9"},
    {offsetof(RegisterFile, r10), "R10"},      {offsetof(RegisterFile, r11), "R11"},
    {offsetof(RegisterFile, r12), "R12"},      {offsetof(RegisterFile, r13), "R13"},
    {offsetof(RegisterFile, r14), "R14"},      {offsetof(RegisterFile, r15), "R15"},
    {offsetof(PebsV1, status), "status"},      {offsetof(PebsV1, data_address), "data_address"},
    {offsetof(PebsV1, data_source), "data_source"}, {offsetof(PebsV1, latency), "latency"},
    {offsetof(PebsV2, eventing_ip), "eventing_ip"}, {offsetof(PebsV2, transaction), "tsx"},
    {offsetof(PebsV3, tsc), "tsc"}};
inline constexpr RecordField kCountersField{offsetof(PebsV1, status), "counters"};

// The groups of adaptive records.
inline constexpr RecordField kBasicFields[] = {
    {offsetof(PebsBasic, format_size), "format_size"}, {offsetof(PebsBasic, ip), "eventing_ip"},
    {offsetof(PebsBasic, counters), "counters"},       {offsetof(PebsBasic, tsc), "tsc"}};
inline constexpr RecordField kMemoryFields[] = {
    {offsetof(PebsMemory, address), "data_address"}, {offsetof(PebsMemory, source), "data_source"},
    {offsetof(PebsMemory, latency), "latency"},      {offsetof(PebsMemory, transaction), "tsx"}};
inline constexpr RecordField kGprFields[] = {
    {offsetof(PebsGprs, flags), "RFLAGS"}, {offsetof(PebsGprs, ip), "RIP"},
    {offsetof(PebsGprs, ax), "RAX"},  {offsetof(PebsGprs, cx), "RCX"},  {offsetof(PebsGprs, dx), "RDX"},
    {offsetof(PebsGprs, bx), "RBX"},  {offsetof(PebsGprs, sp), "RSP"},  {offsetof(PebsGprs, bp), "RBP"},
    {offsetof(PebsGprs, si), "RSI"},  {offsetof(PebsGprs, di), "RDI"},  {offsetof(PebsGprs, r8), "R8"},
    {offsetof(PebsGprs, r9), "R9"},   {offsetof(PebsGprs, r10), "R10"}, {offsetof(PebsGprs, r11), "R11"},
    {offsetof(PebsGprs, r12), "R12"}, {offsetof(PebsGprs, r13), "R13"}, {offsetof(PebsGprs, r14), "R14"},
    {offsetof(PebsGprs, r15), "R15"}};
// clang-format on

static_assert(names_every_word<DsBuffer>(kBufferFields) && names_every_word<BtsRecord>(kBtsFields));
static_assert(names_every_word<Pebs32, std::uint32_t>(kPebs32Fields) && names_every_word<PebsV3>(kPebsFields));
static_assert(names_every_word<PebsBasic>(kBasicFields) && names_every_word<PebsMemory>(kMemoryFields));
static_assert(names_every_word<PebsGprs>(kGprFields));

}  // namespace zs::arch
