#include "profile/symbols/demangle.h"

#include <cxxabi.h>
#include <libiberty/demangle.h>

#include <cstdlib>
#include <memory>

namespace zs::profile {
namespace {

constexpr std::string_view kOperator = "operator";

/// By how its names begin, libiberty's demangler of a language.
struct Language {
  std::string_view prefix;
  char* (*read)(const char* name, int options);
};
constexpr Language kOtherLanguages[] = {{"_ZN", rust_demangle}, {"_R", rust_demangle}, {"_D", dlang_demangle}};

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// Whether `text` has the word "operator" at `at`.
bool operator_at(std::string_view text, std::size_t at) {
  return text.substr(at).starts_with(kOperator) && (at == 0 || !is_name_character(text[at - 1])) &&
         (at + kOperator.size() == text.size() || !is_name_character(text[at + kOperator.size()]));
}

/// After the punctuation of an operator's name ("<<", "()", "->"), so that it does not count as a bracket.
std::size_t after_operator_sign(std::string_view text, std::size_t at) {
  static constexpr std::string_view signs[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                               ">>", "<=", ">=",  "->",  "<",   ">"};
  for (const std::string_view sign : signs) {
    if (text.substr(at).starts_with(sign)) return at + sign.size();
  }
  return at;
}

/// What matters of a demangled name: brackets tell what is nested.
struct Outline {
  std::size_t parameters = std::string_view::npos;  // the "(" of the last parameter list that "::" does not follow
  std::size_t name = 0;                             // where the name begins: after the return type
};

Outline outline_of(std::string_view text) {
  Outline outline;
  int depth = 0;
  std::size_t open = std::string_view::npos;  // of the outermost "(" we are in
  std::size_t last_space = std::string_view::npos;
  bool in_operator = false;  // "operator unsigned long": its spaces belong to the name
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (depth == 0 && operator_at(text, at)) {
      in_operator = true;
      at = after_operator_sign(text, at + kOperator.size()) - 1;
      continue;
    }
    const char c = text[at];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      if (c == '(' && depth == 0) open = at;
      ++depth;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      --depth;
      if (c == ')' && depth == 0) {
        const std::string_view rest = text.substr(at + 1);
        if (in_operator && rest.starts_with("(")) continue;  // "operator void (*)()()": a type that has parameters
        if (text.substr(0, open).ends_with("decltype ")) continue;  // part of the return type
        const bool scope = rest.starts_with("::") || rest.starts_with(" const::");
        outline.parameters = scope ? std::string_view::npos : open;
        if (!scope) break;  // behind it: qualifiers
        in_operator = false;
      }
    } else if (depth == 0 && c == ' ' && !in_operator) {
      last_space = at;
    } else if (depth == 0 && c == ':') {
      in_operator = false;
    }
  }
  if (last_space != std::string_view::npos) outline.name = last_space + 1;
  return outline;
}

}  // namespace

std::string_view without_parameters(std::string_view demangled) {
  const Outline outline = outline_of(demangled);
  if (outline.parameters == std::string_view::npos || outline.parameters <= outline.name) return demangled;
  return demangled.substr(outline.name, outline.parameters - outline.name);
}

std::string demangle(const std::string& linkage_name) {
  // Rust's first mangling looks like C++'s; its own demangler tells them apart by the hash at the end.
  constexpr std::size_t kMost = 10'000;  // chosen: these demanglers call themselves, and nobody writes such names
  for (const auto& [prefix, read] : kOtherLanguages) {
    if (!linkage_name.starts_with(prefix) || linkage_name.size() > kMost) continue;
    const std::unique_ptr<char, void (*)(void*)> text{read(linkage_name.c_str(), 0), std::free};
    if (text) return text.get();
  }
  if (!linkage_name.starts_with("_Z")) return linkage_name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text{
      abi::__cxa_demangle(linkage_name.c_str(), nullptr, nullptr, &status), std::free};
  if (status != 0 || !text) return linkage_name;
  // Thunks, tables and guards ("_ZT...", "_ZG...") name a function or an object in full: so do we.
  const bool special = linkage_name.starts_with("_ZT") || linkage_name.starts_with("_ZG");
  return std::string(special ? std::string_view(text.get()) : without_parameters(text.get()));
}

}  // namespace zs::profile
