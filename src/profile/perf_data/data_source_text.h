// perf's word for the source of data (arch/records/perf_mem.h) as perf 6.1 spells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zs::profile {

std::string operation_text(std::uint64_t data_source);  // "LOAD"
std::string level_text(std::uint64_t data_source);      // "L3 or L3 hit"
std::string snoop_text(std::uint64_t data_source);      // "HitM"
std::string tlb_text(std::uint64_t data_source);        // "L1 or L2 hit"
std::string lock_text(std::uint64_t data_source);       // "No"
std::string block_text(std::uint64_t data_source);      // "N/A"

/// Where data was, as coarsely as a bar can show it.
enum class SourceKind : std::uint8_t { L1, FillBuffer, L2, L3, OtherCore, Memory, Other };
inline constexpr std::size_t kSourceKinds = 7;
struct SourceKindFact {
  char letter;
  std::string_view name;
};
/// By SourceKind.
inline constexpr SourceKindFact kSourceKindFacts[kSourceKinds] = {
    {'1', "L1"},           {'f', "fill buffer"}, {'2', "L2"},       {'3', "L3"},
    {'c', "another core"}, {'M', "memory"},      {'?', "elsewhere"}};

bool is_store(std::uint64_t data_source);
/// Nothing if the word says nothing of it.
std::optional<SourceKind> source_kind(std::uint64_t data_source);

/// All of it, as `perf script` puts it behind the number.
std::string data_source_text(std::uint64_t data_source);

}  // namespace zs::profile
