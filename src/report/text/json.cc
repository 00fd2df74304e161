#include "report/text/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace zs::report {

Json::Json(std::initializer_list<Member> members) {
  Object object;
  for (const Member& member : members) {
    object.names.push_back(member.name);
    object.values.push_back(member.value);
  }
  value_ = std::move(object);
}

Json Json::array() {
  Json made;
  made.value_ = Array{};
  return made;
}

Json Json::object() {
  Json made;
  made.value_ = Object{};
  return made;
}

Json& Json::operator[](std::string_view name) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object{};
  Object* const object = std::get_if<Object>(&value_);
  CHECK(object != nullptr, value_.index());
  const auto found = std::ranges::find(object->names, name);
  if (found != object->names.end()) return object->values[static_cast<std::size_t>(found - object->names.begin())];
  object->names.emplace_back(name);
  return object->values.emplace_back();
}

void Json::push_back(Json element) {
  Array* const array = std::get_if<Array>(&value_);
  CHECK(array != nullptr, value_.index());
  array->push_back(std::move(element));
}

const Json* Json::find(std::string_view name) const {
  const Object* const object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  const auto found = std::ranges::find(object->names, name);
  return found == object->names.end() ? nullptr
                                      : &object->values[static_cast<std::size_t>(found - object->names.begin())];
}

std::optional<double> Json::number() const {
  return std::visit(
      [](const auto& value) -> std::optional<double> {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) return static_cast<double>(value);
        return std::nullopt;
      },
      value_);
}

std::optional<std::string_view> Json::text() const {
  const std::string* const text = std::get_if<std::string>(&value_);
  return text != nullptr ? std::optional<std::string_view>(*text) : std::nullopt;
}

std::span<const Json> Json::elements() const {
  const Array* const array = std::get_if<Array>(&value_);
  return array != nullptr ? std::span<const Json>(*array) : std::span<const Json>();
}

template <typename Read>
Json Json::made_of(const Read& read) {
  switch (read.type()) {
    case Read::value_t::object: {
      Json object = Json::object();
      for (const auto& [name, value] : read.items()) object[name] = made_of(value);
      return object;
    }
    case Read::value_t::array: {
      Json array = Json::array();
      for (const Read& element : read) array.push_back(made_of(element));
      return array;
    }
    case Read::value_t::string: return Json(read.template get<std::string>());
    case Read::value_t::boolean: return Json(read.template get<bool>());
    case Read::value_t::number_integer: return Json(read.template get<std::int64_t>());
    case Read::value_t::number_unsigned: return Json(read.template get<std::uint64_t>());
    case Read::value_t::number_float: return Json(read.template get<double>());
    default: return {};
  }
}

std::optional<Json> Json::parse(std::string_view text) {
  using Read = nlohmann::ordered_json;
  constexpr int kDeepest = 100;
  bool too_deep = false;
  const Read read = Read::parse(
      text,
      [&](int depth, Read::parse_event_t /*event*/, const Read& /*value*/) {
        too_deep |= depth > kDeepest;
        return !too_deep;
      },
      false);
  if (too_deep || read.is_discarded()) return std::nullopt;
  return made_of(read);
}

template <typename Printed>
Printed Json::printed() const {
  if (const Array* const array = std::get_if<Array>(&value_)) {
    Printed out = Printed::array();
    for (const Json& element : *array) out.push_back(element.printed<Printed>());
    return out;
  }
  if (const Object* const object = std::get_if<Object>(&value_)) {
    Printed out = Printed::object();
    for (std::size_t i = 0; i < object->names.size(); ++i) out[object->names[i]] = object->values[i].printed<Printed>();
    return out;
  }
  return std::visit(
      [](const auto& scalar) -> Printed {
        if constexpr (std::constructible_from<Printed, decltype(scalar)>) return Printed(scalar);
        return Printed();
      },
      value_);
}

std::string Json::dump(int indent, bool ascii) const {
  using Printed = nlohmann::ordered_json;
  return printed<Printed>().dump(indent, ' ', ascii, Printed::error_handler_t::replace);
}

}  // namespace zs::report
