// Documents in JSON as pages write them: members stay in the order in which they were added. The library that prints
// and reads them is known to json.cc alone, since its header costs seconds in each file that includes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zs::report {

class Json {
 public:
  struct Member;

  // A value of any kind, of which one is made without being asked; null to begin with.
  Json() = default;
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(std::uint64_t{value}) {}
  template <std::floating_point T>
  Json(T value) : value_(double{value}) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  /// {{"name", 1}, {"other", "text"}}
  Json(std::initializer_list<Member> members);
  template <typename T>
  Json(const std::vector<T>& elements) : value_(Array(elements.begin(), elements.end())) {}

  /// Of a whole document; nothing if it is none, or nested deeper than a hundred levels.
  static std::optional<Json> parse(std::string_view text);

  static Json array();
  static Json object();

  /// The member of that name, which null and objects are given if they have none. CHECKs that it is one of these.
  Json& operator[](std::string_view name);
  /// CHECKs that it is an array.
  void push_back(Json element);

  /// The member of that name; null if this is no object or has none.
  const Json* find(std::string_view name) const;
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// Nothing, or none, of other kinds of values.
  std::optional<double> number() const;
  std::optional<std::string_view> text() const;
  std::span<const Json> elements() const;

  /// indent  blanks for each level; -1: all in one line
  /// ascii   no byte above 127: other letters are written as \uXXXX
  /// What is no UTF-8 is written as U+FFFD, a number that is none as null.
  std::string dump(int indent, bool ascii = false) const;

 private:
  using Array = std::vector<Json>;
  struct Object {  // as many of the one as of the other
    std::vector<std::string> names;
    std::vector<Json> values;
  };

  template <typename Printed>
  Printed printed() const;
  template <typename Read>
  static Json made_of(const Read& read);

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace zs::report
