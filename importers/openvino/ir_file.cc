#include "importers/openvino/ir_file.h"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "importers/draft/read_options.h"

namespace intaglio::importers {
namespace {

// Where reading stopped. The memory sanitizer, which does not see pugixml write it, believes this function by its name.
int64_t stopped_at(const pugi::xml_parse_result& parsed) { return parsed.offset; }

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

constexpr int kMostDepth = 8;  // of bodies in one another

// The layers and edges of a network, or of a layer's body.
class Network {
 public:
  Network(const pugi::xml_node& node, int depth) : depth_(depth) {
    if (depth > kMostDepth) fail("bodies of layers stand more than ", kMostDepth, " deep in one another");
    for (const pugi::xml_node layer : node.child("layers").children("layer")) read_layer(layer);
    check_count(layers_.size(), "layers", kMaxFileNodes);
    for (const pugi::xml_node edge : node.child("edges").children("edge")) read_edge(edge);
    sort();
  }
  std::vector<IrLayer> take() { return std::move(layers_); }
  // The index of the layer that `attribute` names by its id.
  int32_t layer(const pugi::xml_attribute& attribute) const {
    const auto found = ids_.find(whole(attribute.as_string(), "a layer's id"));
    if (found == ids_.end()) fail("a body has no layer ", quoted(attribute.as_string()));
    return found->second;
  }

 private:
  using Place = std::pair<int64_t, int64_t>;  // a layer's id and a port's

  void read_layer(const pugi::xml_node& node) {
    IrLayer layer;
    layer.name = checked_name(node.attribute("name").as_string());
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
      made.name = checked_name(first_name(port.attribute("names").as_string()));
      for (const pugi::xml_node dim : port.children("dim")) {
        made.shape.push_back(whole(dim.child_value(), "a dimension"));
        if (made.shape.back() < -1 || made.shape.back() > INT32_MAX)
          fail("layer ", quoted(layer.name), " has the dimension ", made.shape.back());
      }
      layer.outputs.push_back(std::move(made));
    }
    if (node.child("body")) layer.body = read_body(node, id);
    layers_.push_back(std::move(layer));
  }

  std::shared_ptr<const IrBody> read_body(const pugi::xml_node& node, int64_t id) const {
    auto body = std::make_shared<IrBody>();
    Network network(node.child("body"), depth_ + 1);
    const auto read = [&](const char* kind, const std::map<Place, int32_t>& ports,
                          std::vector<IrMapping>& list) {
      for (const pugi::xml_node entry : node.child("port_map").children(kind)) {
        const auto number = [&](const char* name, int64_t otherwise) {
          const pugi::xml_attribute attribute = entry.attribute(name);
          return attribute ? whole(attribute.as_string(), name) : otherwise;
        };
        IrMapping mapping;
        mapping.inner = network.layer(entry.attribute("internal_layer_id"));
        const int64_t port = number("external_port_id", -1);
        const auto found = ports.find({id, port});
        if (port >= 0 && found == ports.end())
          fail("a body is joined to port ", port, ", which its layer lacks");
        if (port >= 0) mapping.port = found->second;
        mapping.purpose = entry.attribute("purpose").as_string();
        mapping.is_sliced = !entry.attribute("axis").empty();
        mapping.axis = number("axis", 0);
        mapping.start = number("start", 0);
        mapping.end = number("end", -1);
        mapping.stride = number("stride", 1);
        mapping.part_size = number("part_size", 1);
        list.push_back(std::move(mapping));
        if (list.size() > kMaxFileNodes)
          fail("a body is joined to its layer more than ", kMaxFileNodes, " times");
      }
    };
    read("input", inputs_, body->inputs);
    read("output", outputs_, body->outputs);
    for (const pugi::xml_node edge : node.child("back_edges").children("edge"))
      if (!body->back
               .emplace(network.layer(edge.attribute("to-layer")),
                        network.layer(edge.attribute("from-layer")))
               .second)
        fail("two edges of a body go back to one layer");
    if (body->back.size() > kMaxFileEnds)
      fail("a body has ", body->back.size(), " edges that go back; at most ", kMaxFileEnds, " are supported");
    body->layers = network.take();
    return body;
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
  void sort() {
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
    layers_ = std::move(list);
    for (auto& [id, index] : ids_) index = places[static_cast<size_t>(index)];
  }

  const int depth_;
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

std::vector<IrLayer> read_ir_file(Span<const uint8_t> bytes, ImportBudget& budget) {
  // An element is a node of pugixml's and an entry of ours; an attribute likewise.
  constexpr uint64_t kElementBytes = 160, kAttributeBytes = 160;
  const auto count = [&](char mark) {
    return static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), static_cast<uint8_t>(mark)));
  };
  budget.spend_memory(bytes.size + kElementBytes * count('<') + kAttributeBytes * count('='),
                      "what the file holds");
  pugi::xml_document document;
  const auto parsed = document.load_buffer(bytes.data, bytes.size, pugi::parse_minimal | pugi::parse_escapes);
  if (!parsed) fail("the OpenVINO IR is damaged: ", parsed.description(), " at byte ", stopped_at(parsed));
  const pugi::xml_node net = document.child("net");
  if (!net) fail("the XML file has no <net>; is it an OpenVINO IR?");
  const int64_t version = whole(net.attribute("version").as_string(), "the version");
  if (version < kFirstVersion || version > kLastVersion)
    fail("OpenVINO IR version ", version, " is not supported (", kFirstVersion, " and ", kLastVersion,
         " are); write it anew with a current OpenVINO");
  return Network(net, 0).take();
}

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
