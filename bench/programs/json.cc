// String processing: a JSON-like text is built, parsed character by character into a tree, and written out again.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {
struct Value {
  enum class Kind : std::uint8_t { Number, Text, List, Object } kind = Kind::Number;
  double number = 0;
  std::string text;
  std::vector<Value> list;
  std::map<std::string, Value> object;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Value value() {
    Value result;
    skip();
    switch (text_[at_]) {
      case '{':
        result.kind = Value::Kind::Object;
        for (++at_, skip(); text_[at_] != '}'; skip()) {
          if (text_[at_] == ',') ++at_;
          skip();
          std::string key = string();
          skip();
          ++at_;  // ':'
          result.object.emplace(std::move(key), value());
        }
        ++at_;
        break;
      case '[':
        result.kind = Value::Kind::List;
        for (++at_, skip(); text_[at_] != ']'; skip()) {
          if (text_[at_] == ',') ++at_;
          result.list.push_back(value());
        }
        ++at_;
        break;
      case '"':
        result.kind = Value::Kind::Text;
        result.text = string();
        break;
      default: {
        double scale = 0;
        for (; at_ < text_.size() && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.'); ++at_) {
          if (text_[at_] == '.') {
            scale = 1;
          } else {
            result.number = result.number * 10 + (text_[at_] - '0');
            scale *= 10;
          }
        }
        if (scale > 0) result.number /= scale;
      }
    }
    return result;
  }

 private:
  void skip() {
    while (text_[at_] == ' ' || text_[at_] == '\n') ++at_;
  }
  std::string string() {
    std::string result;
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      result += text_[at_];
    }
    ++at_;
    return result;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

void write(const Value& value, std::string& out) {
  char number[32];
  switch (value.kind) {
    case Value::Kind::Number:
      out.append(number, static_cast<std::size_t>(std::snprintf(number, sizeof number, "%g", value.number)));
      break;
    case Value::Kind::Text:
      out += '"';
      out += value.text;
      out += '"';
      break;
    case Value::Kind::List:
      out += '[';
      for (const Value& item : value.list) write(item, out), out += ',';
      out += ']';
      break;
    case Value::Kind::Object:
      out += '{';
      for (const auto& [key, item] : value.object) out += key, out += ':', write(item, out), out += ' ';
      out += '}';
  }
}
}  // namespace

int main() {
  std::string text = "[";
  for (int i = 0; i < 15000; ++i) {
    text += (i ? ", {\"id\": " : "{\"id\": ") + std::to_string(i) + ", \"name\": \"item \\\"" +
            std::to_string(i * 7919 % 1000) + "\\\"\", \"values\": [" + std::to_string(i * 0.5) +
            ", 2, 3.25], \"nested\": {\"a\": 1, \"b\": \"text\"}}\n";
  }
  text += "]";
  std::uint64_t sum = 14695981039346656037u;
  for (int round = 0; round < 12; ++round) {
    const Value value = Parser(text).value();
    std::string out;
    write(value, out);
    for (const char c : out) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
