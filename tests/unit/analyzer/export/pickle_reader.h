// SPDX-License-Identifier: Apache-2.0
// Reads what PickleWriter writes, and nothing else: a second opinion on its opcodes. Shared objects come out as copies.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tensorscope::testing {

class PickleReader {
 public:
  explicit PickleReader(std::string bytes) : bytes_(std::move(bytes)) {}

  nlohmann::json read() {
    if (little_endian(2) != 0x0480) throw std::runtime_error("not protocol 4");
    while (step(char(little_endian(1)))) {
    }
    if (at_ != bytes_.size() || stack_.size() != 1) throw std::runtime_error("something is left");
    return value(stack_[0]);
  }

 private:
  // Lists and dictionaries are filled after they were memoized, so the memo holds numbers of objects.
  struct Object {
    nlohmann::json plain;
    char kind = 'v';  // of a list, a dictionary, a value
    std::vector<size_t> parts;
  };

  uint64_t little_endian(int bytes) {
    uint64_t value = 0;
    if (size_t(bytes) > bytes_.size() - at_) throw std::runtime_error("cut off");
    for (int i = 0; i < bytes; i++) value |= uint64_t(uint8_t(bytes_[at_++])) << (8 * i);
    return value;
  }
  void push(nlohmann::json value) { push_object({std::move(value), 'v', {}}); }
  void push_object(Object object) {
    objects_.push_back(std::move(object));
    stack_.push_back(objects_.size() - 1);
  }
  void push_text(size_t size) {
    push(bytes_.substr(at_, size));
    at_ += size;
  }
  size_t pop() {
    const size_t object = stack_.back();
    stack_.pop_back();
    return object;
  }

  bool step(char opcode) {
    switch (opcode) {
      case '}':
        push_object({{}, 'd', {}});
        return true;
      case ']':
        push_object({{}, 'l', {}});
        return true;
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 'u':
        objects_[stack_[marks_.back() - 1]].parts.assign(stack_.begin() + ptrdiff_t(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return true;
      case 'a': {
        const size_t element = pop();
        objects_[stack_.back()].parts.push_back(element);
        return true;
      }
      case '\x86': {
        const size_t second = pop(), first = pop();
        push_object({{}, 'l', {first, second}});
        return true;
      }
      case 'K':
        push(little_endian(1));
        return true;
      case 'M':
        push(little_endian(2));
        return true;
      case 'J':
        push(int32_t(little_endian(4)));
        return true;
      case '\x8a': {
        const int size = int(little_endian(1));
        push(int64_t(little_endian(size) << (64 - 8 * size)) >> (64 - 8 * size));
        return true;
      }
      case 'G': {
        uint64_t bits = 0;
        for (int i = 0; i < 8; i++) bits = bits << 8 | little_endian(1);
        double real = 0;
        memcpy(&real, &bits, sizeof real);
        push(real);
        return true;
      }
      case '\x88':
      case '\x89':
        push(opcode == '\x88');
        return true;
      case '\x8c':
        push_text(little_endian(1));
        return true;
      case 'X':
        push_text(little_endian(4));
        return true;
      case '\x94':
        memo_.push_back(stack_.back());
        return true;
      case 'h':
      case 'j':
        stack_.push_back(memo_.at(little_endian(opcode == 'h' ? 1 : 4)));
        return true;
      case '.':
        return false;
      default:
        throw std::runtime_error("an opcode that is not ours: " + std::to_string(int(opcode)));
    }
  }

  nlohmann::json value(size_t number) const {
    const Object& object = objects_[number];
    if (object.kind == 'v') return object.plain;
    nlohmann::json result = object.kind == 'l' ? nlohmann::json::array() : nlohmann::json::object();
    for (size_t i = 0; i < object.parts.size(); i++) {
      if (object.kind == 'l') {
        result.push_back(value(object.parts[i]));
      } else {
        result[value(object.parts[i]).get<std::string>()] = value(object.parts[i + 1]);
        i++;
      }
    }
    return result;
  }

  std::string bytes_;
  size_t at_ = 0;
  std::vector<Object> objects_;
  std::vector<size_t> stack_, marks_, memo_;
};

}  // namespace tensorscope::testing
