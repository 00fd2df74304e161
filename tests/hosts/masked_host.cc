// The machine that zeroskid believes it is on, in place of src/arch/this_processor.cc and src/base/auxiliary_vector.cc:
// what the file "host" beside the program says of it, and no more than this machine has. The file is as /proc/cpuinfo
// is, with lines for what that does not have. Bits of CPUID without a name here are taken away, too.
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "arch/this_processor.h"
#include "base/auxiliary_vector.h"

namespace zs::arch {
namespace {

enum class Word { Ecx1, Edx1, Ebx7, Ecx7, Eax71, EaxD1, Ecx81, Edx81 };

struct Feature {
  std::string_view name;
  Word word;
  unsigned bit;
};

constexpr Feature kFeatures[] = {
    {"fpu", Word::Edx1, 0},       {"tsc", Word::Edx1, 4},          {"msr", Word::Edx1, 5},
    {"cx8", Word::Edx1, 8},       {"apic", Word::Edx1, 9},         {"sep", Word::Edx1, 11},
    {"cmov", Word::Edx1, 15},     {"clflush", Word::Edx1, 19},     {"mmx", Word::Edx1, 23},
    {"fxsr", Word::Edx1, 24},     {"sse", Word::Edx1, 25},         {"sse2", Word::Edx1, 26},
    {"ht", Word::Edx1, 28},       {"pni", Word::Ecx1, 0},          {"pclmulqdq", Word::Ecx1, 1},
    {"ssse3", Word::Ecx1, 9},     {"fma", Word::Ecx1, 12},         {"cx16", Word::Ecx1, 13},
    {"sse4_1", Word::Ecx1, 19},   {"sse4_2", Word::Ecx1, 20},      {"movbe", Word::Ecx1, 22},
    {"popcnt", Word::Ecx1, 23},   {"aes", Word::Ecx1, 25},         {"xsave", Word::Ecx1, 26},
    {"xsave", Word::Ecx1, 27},    {"avx", Word::Ecx1, 28},         {"f16c", Word::Ecx1, 29},
    {"rdrand", Word::Ecx1, 30},   {"fsgsbase", Word::Ebx7, 0},     {"bmi1", Word::Ebx7, 3},
    {"avx2", Word::Ebx7, 5},      {"bmi2", Word::Ebx7, 8},         {"erms", Word::Ebx7, 9},
    {"avx512f", Word::Ebx7, 16},  {"avx512dq", Word::Ebx7, 17},    {"rdseed", Word::Ebx7, 18},
    {"adx", Word::Ebx7, 19},      {"avx512ifma", Word::Ebx7, 21},  {"clflushopt", Word::Ebx7, 23},
    {"clwb", Word::Ebx7, 24},     {"avx512cd", Word::Ebx7, 28},    {"sha_ni", Word::Ebx7, 29},
    {"avx512bw", Word::Ebx7, 30}, {"avx512vl", Word::Ebx7, 31},    {"avx512vbmi", Word::Ecx7, 1},
    {"ospke", Word::Ecx7, 4},     {"avx512_vbmi2", Word::Ecx7, 6}, {"gfni", Word::Ecx7, 8},
    {"vaes", Word::Ecx7, 9},      {"vpclmulqdq", Word::Ecx7, 10},  {"avx512_vnni", Word::Ecx7, 11},
    {"rdpid", Word::Ecx7, 22},    {"avx_vnni", Word::Eax71, 4},    {"avx512_bf16", Word::Eax71, 5},
    {"xsaveopt", Word::EaxD1, 0}, {"xsavec", Word::EaxD1, 1},      {"xgetbv1", Word::EaxD1, 2},
    {"lahf_lm", Word::Ecx81, 0},  {"abm", Word::Ecx81, 5},         {"sse4a", Word::Ecx81, 6},
    {"syscall", Word::Edx81, 11}, {"nx", Word::Edx81, 20},         {"pdpe1gb", Word::Edx81, 26},
    {"rdtscp", Word::Edx81, 27},  {"lm", Word::Edx81, 29},
};

const std::string& description() {
  static const std::string text = [] {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    std::string name(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    name.replace(name.rfind('/') + 1, std::string::npos, "host");
    char bytes[8192];
    const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (got <= 0) {
      std::fprintf(stderr, "%s cannot be read\n", name.c_str());
      std::abort();
    }
    close(file);
    return "\n" + std::string(bytes, static_cast<std::size_t>(got));
  }();
  return text;
}

std::string_view fact(std::string_view key) {
  const std::string_view all = description();
  const std::size_t line = all.find("\n" + std::string(key) + ":");
  if (line == std::string_view::npos) {
    std::fprintf(stderr, "the host's description has no line %s\n", std::string(key).c_str());
    std::abort();
  }
  const std::string_view rest = all.substr(line + key.size() + 2);
  const std::string_view value = rest.substr(0, rest.find('\n'));
  return value.substr(std::min(value.find_first_not_of(' '), value.size()));
}
std::uint64_t number(std::string_view key) { return std::strtoull(std::string(fact(key)).c_str(), nullptr, 0); }
bool has(std::string_view name) {
  return (" " + std::string(fact("flags")) + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

std::uint32_t mask_of(Word word) {
  std::uint32_t mask = 0;
  for (const Feature& feature : kFeatures) {
    if (feature.word == word && has(feature.name)) mask |= 1U << feature.bit;
  }
  return mask;
}

CpuidLeaf real(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidLeaf answer{.eax = leaf, .ecx = subleaf};
  asm volatile("cpuid" : "+a"(answer.eax), "=b"(answer.ebx), "+c"(answer.ecx), "=d"(answer.edx));
  return answer;
}

std::uint32_t signature() {
  const auto family = static_cast<std::uint32_t>(number("cpu family")),
             model = static_cast<std::uint32_t>(number("model"));
  const std::uint32_t base = std::min(family, 0xFU);
  return (family - base) << 20 | (model >> 4) << 16 | base << 8 | (model & 0xF) << 4 |
         static_cast<std::uint32_t>(number("stepping"));
}

}  // namespace

CpuidLeaf cpuid_here(std::uint32_t leaf, std::uint32_t subleaf) {
  const auto highest = static_cast<std::uint32_t>(number("cpuid level"));
  if (leaf < 0x8000'0000 && leaf > highest) return {};
  CpuidLeaf answer = real(leaf, subleaf);
  switch (leaf) {
    case 0: {
      answer.eax = highest;
      char vendor[12] = {};
      fact("vendor_id").copy(vendor, sizeof vendor);
      std::memcpy(&answer.ebx, vendor, 4);
      std::memcpy(&answer.edx, vendor + 4, 4);
      std::memcpy(&answer.ecx, vendor + 8, 4);
      return answer;
    }
    case 1: return {signature(), answer.ebx, answer.ecx & mask_of(Word::Ecx1), answer.edx & mask_of(Word::Edx1)};
    case 7:
      if (subleaf == 0) return {0, answer.ebx & mask_of(Word::Ebx7), answer.ecx & mask_of(Word::Ecx7), 0};
      return subleaf == 1 ? CpuidLeaf{.eax = answer.eax & mask_of(Word::Eax71)} : CpuidLeaf{};
    case 0xD:
      if (xcr0_here() == 0) return {};
      if (subleaf == 0) {
        // What this machine's XSAVE writes of the described components lies where this machine has it.
        auto bytes = static_cast<std::uint32_t>(number("xsave bytes"));
        for (std::uint32_t i = 2; i < 64; ++i) {
          if ((xcr0_here() >> i & 1) == 0) continue;
          const CpuidLeaf component = real(0xD, i);
          bytes = std::max(bytes, component.ebx + component.eax);
        }
        return {.eax = static_cast<std::uint32_t>(xcr0_here()), .ebx = bytes, .ecx = bytes};
      }
      if (subleaf == 1) return {.eax = answer.eax & mask_of(Word::EaxD1)};
      return subleaf < 64 && (xcr0_here() >> subleaf & 1) != 0 ? answer : CpuidLeaf{};  // where this machine has it
    case 0x8000'0001:
      return {answer.eax, answer.ebx, answer.ecx & mask_of(Word::Ecx81), answer.edx & mask_of(Word::Edx81)};
    case 0x8000'0002:
    case 0x8000'0003:
    case 0x8000'0004: {
      char text[48] = {};
      fact("model name").copy(text, sizeof text - 1);
      CpuidLeaf part;
      std::memcpy(&part, text + (leaf - 0x8000'0002) * sizeof part, sizeof part);
      return part;
    }
    default: return answer;
  }
}

std::uint64_t xcr0_here() {
  if (!has("xsave")) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32 | low) & number("xcr0");
}

}  // namespace zs::arch

namespace zs {

std::optional<std::uint64_t> auxiliary_here(std::uint64_t type) {
  constexpr std::uint64_t kMinSigStackSize = 51, kFsgsbase = 2;
  switch (type) {
    case AT_HWCAP: return arch::cpuid_here(1, 0).edx;
    case AT_HWCAP2: return getauxval(AT_HWCAP2) & (arch::has("fsgsbase") ? ~std::uint64_t{0} : ~kFsgsbase);
    case kMinSigStackSize: return arch::number("signal frame");
    default: return getauxval(type);
  }
}

}  // namespace zs

// RDGSBASE, which the engine tries, in place of src/engine/segment_bases.S.
extern "C" bool zs_runs_rdgsbase() { return zs::arch::has("fsgsbase"); }
extern "C" const char zs_runs_rdgsbase_fault = 0, zs_runs_rdgsbase_end = 0;

// What zeroskid asks the C library of the machine; tests/hosts/CMakeLists.txt has the linker send it here.
// NOLINTBEGIN(readability-identifier-naming): the linker makes the names
extern "C" int __wrap_uname(utsname* name) {
  std::memset(name, 0, sizeof *name);
  std::strcpy(name->sysname, "Linux");
  zs::arch::fact("hostname").copy(name->nodename, sizeof name->nodename - 1);
  zs::arch::fact("release").copy(name->release, sizeof name->release - 1);
  std::strcpy(name->machine, "x86_64");
  return 0;
}
extern "C" long __real_sysconf(int name);
extern "C" long __wrap_sysconf(int name) {
  const bool counts = name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN;
  return counts ? static_cast<long>(zs::arch::number("siblings")) : __real_sysconf(name);
}
extern "C" int __wrap_sysinfo(struct sysinfo* info) {
  *info = {};
  info->totalram = zs::arch::number("memory");
  info->mem_unit = 1;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
