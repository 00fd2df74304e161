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
