// OpenVINO IRs whose elements, attributes and numbers are changed by name, so that the text stays XML and most layers hold
// together. Start it on its seeds, or on a folder of real files.
#include <cstring>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "importers/openvino/ir_op.h"
#include "tests/fuzz/ir_bytes.h"
#include "tests/hostile/hostile_runs.h"
#include "tests/support/random.h"

namespace {

using intaglio::test::Random;

// The parts of the text, in its order.
struct Places {
  explicit Places(const pugi::xml_node& node) { list(node); }
  void list(const pugi::xml_node& node) {
    for (const pugi::xml_node child : node.children()) {
      if (child.type() == pugi::node_pcdata) texts.push_back(child);
      if (child.type() != pugi::node_element) continue;
      elements.push_back(child);
      for (const pugi::xml_attribute attribute : child.attributes()) attributes.push_back(attribute);
      list(child);
    }
  }

  std::vector<pugi::xml_node> elements, texts;
  std::vector<pugi::xml_attribute> attributes;
};

template <typename T>
const T& any(const std::vector<T>& list, Random& random) {
  return list[random.bits() % list.size()];
}

std::string number(const std::string& old, Random& random) {
  const char* const odd[] = {"0",           "1",
                             "-1",          "2",
                             "3",           "4",
                             "5",           "8",
                             "16",          "64",
                             "?",           "4294967295",
                             "-2147483648", "9223372036854775807",
                             "1e30",        "-9223372036854775808",
                             "x",           "",
                             "0.5",         "true",
                             "false"};
  if (random.one_in(2)) return odd[random.bits() % std::size(odd)];
  const auto now = static_cast<uint64_t>(std::strtoll(old.c_str(), nullptr, 10));
  return std::to_string(static_cast<int64_t>(random.one_in(2) ? now + 1 : now - 1));
}

// A list's item, or all of it.
std::string changed(const std::string& old, Random& random) {
  std::vector<std::string> items;
  for (size_t at = 0; at < old.size(); at += items.back().size() + 1)
    items.push_back(old.substr(at, old.find(',', at) - at));
  if (items.empty() || random.one_in(16)) return number(old, random);
  const size_t at = random.bits() % items.size();
  const auto place = items.begin() + static_cast<std::ptrdiff_t>(at);
  if (random.one_in(8))
    items.erase(place);
  else if (random.one_in(8))
    items.insert(place, std::string(items[at]));
  else
    items[at] = number(items[at], random);
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text;
}

// Every layer that the importer knows.
const std::vector<std::string>& known_types() {
  using namespace intaglio::importers;
  static const std::vector<std::string> types = [] {
    std::vector<std::string> names;
    for (const auto list : {ir_composed_operators(), ir_elementwise_operators(), ir_indexed_operators(),
                            ir_layer_operators(), ir_loop_operators(), ir_quantized_operators(),
                            ir_shape_operators(), ir_state_operators()})
      for (const IrOperator& known : list) names.emplace_back(known.type);
    return names;
  }();
  return types;
}

void change_attribute(const Places& places, Random& random) {
  pugi::xml_attribute attribute = any(places.attributes, random);
  if (std::strcmp(attribute.name(), "type") == 0 && random.one_in(2)) {
    attribute.set_value(any(known_types(), random).c_str());
    return;
  }
  if (random.one_in(3)) {  // as another one of the same name has it
    std::vector<pugi::xml_attribute> same;
    for (const pugi::xml_attribute other : places.attributes)
      if (std::strcmp(other.name(), attribute.name()) == 0) same.push_back(other);
    const std::string value = any(same, random).value();
    attribute.set_value(value.c_str());
    return;
  }
  attribute.set_value(changed(attribute.value(), random).c_str());
}

void change_element(const Places& places, Random& random) {
  pugi::xml_node element = any(places.elements, random);
  pugi::xml_node parent = element.parent();
  switch (random.between(0, 5)) {
    case 0:
      parent.remove_child(element);
      return;
    case 1:
      parent.append_copy(element);
      return;
    case 2:
      parent.prepend_copy(element);
      return;
    case 3: {  // an attribute fewer
      std::vector<pugi::xml_attribute> own(element.attributes_begin(), element.attributes_end());
      if (!own.empty()) element.remove_attribute(any(own, random));
      return;
    }
    case 4: {  // one that another element has
      const pugi::xml_attribute other = any(places.attributes, random);
      element.append_attribute(other.name()).set_value(other.value());
      return;
    }
    default: {  // a layer's type, a port's place
      pugi::xml_node other = any(places.elements, random);
      if (std::strcmp(other.name(), element.name()) == 0 && other.parent() == parent)
        parent.insert_move_before(other, element);
      return;
    }
  }
}

// A number of 1, 4 or 8 bytes, where constants usually lie.
void change_weights(std::string& weights, Random& random) {
  const size_t step = random.one_in(2) ? 8 : random.one_in(2) ? 4 : 1;
  if (weights.empty() || random.one_in(8)) weights.resize(weights.size() + step);
  const size_t at = random.bits() % weights.size() / step * step;
  const float real = random.one_in(2) ? random.any_float() : random.real(-2, 2);
  const int64_t whole =
      random.one_in(4) ? int64_t{random.between(-100, 100)} * (int64_t{1} << 32) : random.between(-2, 6);
  uint8_t bytes[8] = {};
  std::memcpy(bytes, &whole, sizeof whole);
  if (step == 4) std::memcpy(bytes, &real, sizeof real);
  std::memcpy(&weights[at], bytes, std::min(step, weights.size() - at));
}

// No stream: see msan_fuzzers.
struct Text : pugi::xml_writer {
  void write(const void* data, size_t size) override { made.append(static_cast<const char*>(data), size); }
  std::string made;
};

bool load(pugi::xml_document& document, const std::string& text) {
  return document.load_buffer(text.data(), text.size(), pugi::parse_minimal | pugi::parse_escapes) &&
         document.child("net");
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  static const auto seeds = intaglio::test::hostile_seeds();
  Random random(seed);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  pugi::xml_document document;
  if (!load(document, bytes.substr(0, bytes.find('\0')))) {
    const std::vector<uint8_t>& start = any(seeds, random);
    bytes.assign(start.begin(), start.end());
    if (!load(document, bytes.substr(0, bytes.find('\0')))) std::abort();
  }
  const size_t end = bytes.find('\0');
  std::string weights = end == std::string::npos ? "" : bytes.substr(end + 1);
  for (int32_t changes = random.between(1, 3); changes > 0; --changes) {
    const Places places(document);
    if (places.elements.empty() || places.attributes.empty()) break;
    const int32_t kind = random.between(0, 9);
    if (kind < 5)
      change_attribute(places, random);
    else if (kind < 7)
      change_element(places, random);
    else if (kind == 7 && !places.texts.empty()) {
      pugi::xml_node text = any(places.texts, random);
      text.set_value(number(text.value(), random).c_str());
    } else
      change_weights(weights, random);
  }
  Text text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  std::string made = std::move(text.made);
  made += '\0';
  made += weights;
  if (made.size() > max_size) return size;
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  intaglio::fuzz::import_ir_and_run({data, size});
  return 0;
}
