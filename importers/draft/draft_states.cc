#include "importers/draft/read_options.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/names.h"
#include "intaglio/describe.h"

namespace intaglio::importers {
namespace {

std::vector<std::string> names_of(const Draft& draft, const std::vector<int32_t>& tensors) {
  std::vector<std::string> names;
  for (const int32_t tensor : tensors) names.push_back(draft.tensor(tensor).name);
  return names;
}

size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + quoted(name);
  return list;
}

[[noreturn]] void fail_without(const std::string& what, const std::string& kind, const std::string& name,
                               const std::vector<std::string>& names) {
  const std::string near = nearest_name(name, names);
  fail(what, " names the ", kind, " ", quoted(name), ", which the network does not have; ",
       near.empty() ? "its " + kind + "s are " + listed(names) : "the nearest is " + quoted(near));
}

// Names may hold an equals sign: that one parts them with which both sides are ends, else the first.
std::pair<std::string, std::string> parted(const std::string& words, const std::vector<std::string>& inputs,
                                           const std::vector<std::string>& outputs) {
  const size_t first = words.find('=');
  if (first == std::string::npos || first == 0 || first + 1 == words.size())
    fail("--state ", shown(words),
         ": write the input that takes the state and the output that gives it, as --state IN=OUT");
  for (size_t at = first; at != std::string::npos; at = words.find('=', at + 1)) {
    const std::string in = words.substr(0, at), out = words.substr(at + 1);
    if (place_of(inputs, in) < inputs.size() && place_of(outputs, out) < outputs.size()) return {in, out};
  }
  return {words.substr(0, first), words.substr(first + 1)};
}

// In the input's own type.
std::vector<uint8_t> initial_bytes(const StateStart& start, const DraftTensor& input) {
  const auto count = static_cast<size_t>(elements(input.shape));
  if (start.values.size() != 1 && start.values.size() != count)
    fail("--initial ", quoted(start.input), ": ", start.values.size(), " values are given; the state has ",
         shape_text(input.shape), ", so it takes 1 or ", count);
  std::vector<float> values = start.values;
  values.resize(count, values[0]);
  for (const float value : values)
    if (!std::isfinite(value)) fail("--initial ", quoted(start.input), ": ", value, " is no finite number");
  std::vector<uint8_t> bytes(count * element_bytes(input.dtype));
  if (input.dtype == DType::kF32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < count; ++i) {
    const float code = std::nearbyint(values[i] / input.scales.at(0)) + static_cast<float>(input.zero_point);
    bytes[i] = static_cast<uint8_t>(static_cast<int8_t>(std::min(std::max(code, -128.0f), 127.0f)));
  }
  return bytes;
}

void check_pair(const std::string& words, const DraftTensor& input, const DraftTensor& output) {
  const auto differ = [&](const auto&... parts) { fail("--state ", shown(words), ": ", parts...); };
  if (input.shape != output.shape)
    differ("the input has the shape ", shape_text(input.shape), ", the output ", shape_text(output.shape),
           "; a state keeps its shape");
  if (input.dtype != output.dtype)
    differ("the input is ", dtype_name(input.dtype), ", the output ", dtype_name(output.dtype),
           "; a state keeps its type");
  if (!input.same_quantization(output))
    differ("the input and the output have different scales; a state keeps its codes");
  if (input.dtype != DType::kF32 && input.dtype != DType::kS8)
    differ("the input is ", dtype_name(input.dtype), "; states are float32 or int8");
}

}  // namespace

void join_states(const std::vector<StateWords>& states, const std::vector<StateStart>& starts, Draft& draft) {
  const std::vector<std::string> inputs = names_of(draft, draft.inputs),
                                 outputs = names_of(draft, draft.outputs);
  std::vector<std::string> joined;
  for (const StateWords& words : states) {
    const auto [in, out] = parted(words, inputs, outputs);
    DraftState state;
    state.input = place_of(inputs, in);
    state.output = place_of(outputs, out);
    if (state.input == inputs.size()) fail_without("--state " + shown(words), "input", in, inputs);
    if (state.output == outputs.size()) fail_without("--state " + shown(words), "output", out, outputs);
    for (const DraftState& other : draft.states) {
      if (other.input == state.input)
        fail("--state ", shown(words), ": the input ", quoted(in), " takes a state already");
      if (other.output == state.output)
        fail("--state ", shown(words), ": the output ", quoted(out), " gives a state already");
    }
    const DraftTensor& input = draft.tensor(draft.inputs[state.input]);
    check_pair(words, input, draft.tensor(draft.outputs[state.output]));
    if (input.dtype == DType::kS8 && input.zero_point != 0)
      state.initial = initial_bytes({in, {0.0f}}, input);
    for (const StateStart& start : starts)
      if (start.input == in) state.initial = initial_bytes(start, input);
    joined.push_back(in);
    draft.notes.push_back(text("input ", quoted(in), " ", shape_text(input.shape), " is a state: it takes ",
                               quoted(out), " of the run before, and Session::reset() begins anew"));
    draft.states.push_back(std::move(state));
  }
  for (const StateStart& start : starts) {
    if (place_of(joined, start.input) == joined.size())
      fail("--initial names ", quoted(start.input), ", which is no input of a --state",
           joined.empty() ? "" : "; those are " + listed(joined));
  }
  if (states.empty()) return;
  if (draft.states.size() == draft.inputs.size())
    fail("every input of the network is a state; at least one must be left for the caller");
  if (draft.states.size() == draft.outputs.size())
    fail("every output of the network is a state; at least one must be left for the caller");
}

}  // namespace intaglio::importers
