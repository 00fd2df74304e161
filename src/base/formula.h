// Formulas over named counts, as tables write them down: "1000 * mem_load_retired.l1_miss / inst_retired.any".
//
//   SUM     = PRODUCT { ( "+" | "-" ) PRODUCT }
//   PRODUCT = FACTOR { ( "*" | "/" ) FACTOR }
//   FACTOR  = NUMBER | NAME | "(" SUM ")" | ( "min" | "max" ) "(" SUM "," SUM ")"
//   NUMBER  = digits [ "." digits ]
//   NAME    = a letter, then letters, digits, "_", ".", and "-" before a letter
//
// Blanks may stand between any two of these, and must stand before a "-" that subtracts from a name.
// Something divided by zero is not a number, whatever it is, and so is all that is computed from it: a rate of nothing
// is not 0.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace zs {

namespace formula_detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

template <typename ValueOf>
class Reader {
 public:
  constexpr Reader(std::string_view text, const ValueOf& value_of) : rest_(text), value_of_(value_of) {}

  constexpr std::optional<double> whole() {
    const double value = sum();
    skip_blanks();
    if (!good_ || !rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  constexpr double sum() {
    double value = product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  constexpr double product() {
    double value = factor();
    for (;;) {
      if (take('*')) {
        value *= factor();
      } else if (take('/')) {
        const double divisor = factor();
        value = divisor == 0 ? kNotANumber : value / divisor;
      } else {
        return value;
      }
    }
  }

  constexpr double factor() {
    skip_blanks();
    if (take('(')) return closed(sum());
    if (rest_.empty()) return wrong();
    if (is_digit(rest_.front())) return number();
    if (!is_letter(rest_.front())) return wrong();
    const std::string_view name = take_name();
    if ((name == "min" || name == "max") && take('(')) return closed(least_or_most(name == "max"));
    return value_of_(name);
  }

  constexpr double least_or_most(bool most) {
    const double a = sum();
    if (!take(',')) return wrong();
    const double b = sum();
    if (a != a || b != b) return kNotANumber;
    return (a < b) == most ? b : a;
  }

  constexpr double number() {
    double value = 0;
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1))
      value = value * 10 + (rest_.front() - '0');
    if (rest_.size() < 2 || rest_[0] != '.' || !is_digit(rest_[1])) return value;
    double digit = 1;
    for (rest_.remove_prefix(1); !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1)) {
      value += (rest_.front() - '0') * (digit /= 10);
    }
    return value;
  }

  constexpr std::string_view take_name() {
    std::size_t end = 1;
    while (end < rest_.size() && belongs_to_name(end)) ++end;
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return name;
  }
  constexpr bool belongs_to_name(std::size_t at) const {
    const char c = rest_[at];
    if (c == '-') return at + 1 < rest_.size() && is_letter(rest_[at + 1]);
    return is_letter(c) || is_digit(c) || c == '_' || c == '.';
  }

  constexpr double closed(double value) { return take(')') ? value : wrong(); }
  constexpr double wrong() {
    good_ = false;
    rest_ = {};
    return 0;
  }
  constexpr void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  constexpr bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
  const ValueOf& value_of_;
  bool good_ = true;
};

}  // namespace formula_detail

/// value_of  double(std::string_view name); asked once for each name, in the order in which they stand
/// returns   nothing if `text` is no formula. Depth of recursion: that of its parentheses, so not for input.
template <typename ValueOf>
constexpr std::optional<double> evaluate(std::string_view text, const ValueOf& value_of) {
  return formula_detail::Reader<ValueOf>(text, value_of).whole();
}

constexpr bool is_formula(std::string_view text) {
  return evaluate(text, [](std::string_view) { return 1.0; }).has_value();
}

}  // namespace zs
