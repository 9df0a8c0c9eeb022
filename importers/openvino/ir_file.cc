#include "importers/openvino/ir_file.h"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "importers/draft/read_options.h"
#include "importers/openvino/ir_reader.h"

namespace intaglio::importers {
namespace {

constexpr int kFirstVersion = 10, kLastVersion = 11;

int64_t whole(const char* text, const char* what) {
  int64_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) fail(what, " ", quoted(text), " is no number");
  return value;
}

// "a,b\,c": names with commas between them; the first one.
std::string first_name(const char* names) {
  std::string name;
  for (; *names != '\0' && *names != ','; ++names) {
    if (*names == '\\' && names[1] != '\0') ++names;
    name += *names;
  }
  return name;
}

class File {
 public:
  explicit File(Span<const uint8_t> bytes) {
    const auto parsed =
        document_.load_buffer(bytes.data, bytes.size, pugi::parse_minimal | pugi::parse_escapes);
    if (!parsed)
      fail("the OpenVINO IR is damaged: ", parsed.description(), " at byte ",
           static_cast<int64_t>(parsed.offset));
  }

  std::vector<IrLayer> read() {
    const pugi::xml_node net = document_.child("net");
    if (!net) fail("the XML file has no <net>; is it an OpenVINO IR?");
    const int64_t version = whole(net.attribute("version").as_string(), "the version");
    if (version < kFirstVersion || version > kLastVersion)
      fail("OpenVINO IR version ", version, " is not supported (", kFirstVersion, " and ", kLastVersion,
           " are); write it anew with a current OpenVINO");
    for (const pugi::xml_node layer : net.child("layers").children("layer")) read_layer(layer);
    check_count(layers_.size(), "layers", kMaxFileNodes);
    for (const pugi::xml_node edge : net.child("edges").children("edge")) read_edge(edge);
    return sorted();
  }

 private:
  using Place = std::pair<int64_t, int64_t>;  // a layer's id and a port's

  void read_layer(const pugi::xml_node& node) {
    IrLayer layer;
    layer.name = node.attribute("name").as_string();
    layer.type = node.attribute("type").as_string();
    layer.version = node.attribute("version").as_string();
    const auto index = static_cast<int32_t>(layers_.size());
    const int64_t id = whole(node.attribute("id").as_string(), "a layer's id");
    if (!ids_.emplace(id, index).second) fail("layer ", id, " stands twice in the file");
    for (const pugi::xml_attribute attribute : node.child("data").attributes())
      layer.attributes[attribute.name()] = attribute.value();
    for (const pugi::xml_node port : node.child("input").children("port")) {
      inputs_[{id, whole(port.attribute("id").as_string(), "a port's id")}] =
          static_cast<int32_t>(layer.inputs.size());
      layer.inputs.emplace_back();
    }
    for (const pugi::xml_node port : node.child("output").children("port")) {
      outputs_[{id, whole(port.attribute("id").as_string(), "a port's id")}] =
          static_cast<int32_t>(layer.outputs.size());
      IrPort made;
      made.type = port.attribute("precision").as_string();
      made.name = first_name(port.attribute("names").as_string());
      for (const pugi::xml_node dim : port.children("dim")) {
        made.shape.push_back(whole(dim.child_value(), "a dimension"));
        if (made.shape.back() < -1 || made.shape.back() > INT32_MAX)
          fail("layer ", quoted(layer.name), " has the dimension ", made.shape.back());
      }
      layer.outputs.push_back(std::move(made));
    }
    layers_.push_back(std::move(layer));
  }

  void read_edge(const pugi::xml_node& edge) {
    const auto number = [&](const char* name) {
      return whole(edge.attribute(name).as_string(), "an edge's end");
    };
    const Place from{number("from-layer"), number("from-port")}, to{number("to-layer"), number("to-port")};
    const auto output = outputs_.find(from), input = inputs_.find(to);
    if (output == outputs_.end() || input == inputs_.end())
      fail("an edge goes from layer ", from.first, " port ", from.second, " to layer ", to.first, " port ",
           to.second, ", which the file does not have");
    IrSource& source =
        layers_[static_cast<size_t>(ids_.at(to.first))].inputs[static_cast<size_t>(input->second)];
    if (source.layer >= 0) fail("layer ", to.first, " port ", to.second, " has two edges");
    source = {ids_.at(from.first), output->second};
  }

  // Layers behind those that they read, and otherwise in the file's order.
  std::vector<IrLayer> sorted() {
    const size_t count = layers_.size();
    std::vector<std::vector<int32_t>> readers(count);
    std::vector<size_t> waits(count, 0);
    for (size_t i = 0; i < count; ++i)
      for (const IrSource& source : layers_[i].inputs)
        if (source.layer >= 0) {
          readers[static_cast<size_t>(source.layer)].push_back(static_cast<int32_t>(i));
          ++waits[i];
        }
    std::vector<int32_t> order, places(count, -1);
    std::set<int32_t>
        ready;  // the first one of the file goes first: that is the order of the network's outputs
    for (size_t i = 0; i < count; ++i)
      if (waits[i] == 0) ready.insert(static_cast<int32_t>(i));
    while (!ready.empty()) {
      order.push_back(*ready.begin());
      ready.erase(ready.begin());
      for (const int32_t reader : readers[static_cast<size_t>(order.back())])
        if (--waits[static_cast<size_t>(reader)] == 0) ready.insert(reader);
    }
    if (order.size() != count) fail("the layers read in a ring");
    std::vector<IrLayer> list;
    for (size_t i = 0; i < count; ++i) places[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    for (const int32_t i : order) {
      list.push_back(std::move(layers_[static_cast<size_t>(i)]));
      for (IrSource& source : list.back().inputs)
        if (source.layer >= 0) source.layer = places[static_cast<size_t>(source.layer)];
    }
    return list;
  }

  pugi::xml_document document_;
  std::vector<IrLayer> layers_;
  std::map<int64_t, int32_t> ids_;             // index of each layer
  std::map<Place, int32_t> inputs_, outputs_;  // index of each port among its layer's
};

}  // namespace

bool is_openvino(Span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data), bytes.size);
  const size_t first = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (first == std::string_view::npos) return false;
  return text.compare(first, 5, "<?xml") == 0 || text.compare(first, 4, "<net") == 0;
}

std::vector<IrLayer> read_ir_file(Span<const uint8_t> bytes) { return File(bytes).read(); }

IrShape ir_numbers(const std::string& text) {
  IrShape list;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    const bool is_open = part == "?" || part.find("..") != std::string::npos;
    list.push_back(is_open ? -1 : whole(part.c_str(), "the list's item"));
    begin = end + 1;
  }
  return list;
}

}  // namespace intaglio::importers
