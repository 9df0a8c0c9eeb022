// The numbers of the fields of ONNX's messages. describe(message, visitor) calls the visitor with the number and the member of
// each field, in the order of their numbers: visitor(1, message.name), or visitor.packed(4, message.float_data) where a list is
// written as one block. Reader, writer and the fuzzer's mutator are such visitors.
#pragma once

#include <type_traits>

#include "importers/onnx/onnx_file.h"

namespace intaglio::onnx_file {

// Whether M, const or not, is a T.
template <typename M, typename T>
using If = std::enable_if_t<std::is_same_v<std::remove_const_t<M>, T>, int>;

template <typename M, typename Visitor, If<M, StringStringEntryProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.key);
  field(2, m.value);
}

template <typename M, typename Visitor, If<M, OperatorSetIdProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.domain);
  field(2, m.version);
}

template <typename M, typename Visitor, If<M, TensorProto::Segment> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.begin);
  field(2, m.end);
}

template <typename M, typename Visitor, If<M, TensorProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.dims);
  field(2, m.data_type);
  field(3, m.segment);
  field.packed(4, m.float_data);
  field.packed(5, m.int32_data);
  field(6, m.string_data);
  field.packed(7, m.int64_data);
  field(8, m.name);
  field(9, m.raw_data);
  field.packed(10, m.double_data);
  field.packed(11, m.uint64_data);
  field(12, m.doc_string);
  field(13, m.external_data);
  field(14, m.data_location);
}

template <typename M, typename Visitor, If<M, SparseTensorProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.values);
  field(2, m.indices);
  field(3, m.dims);
}

template <typename M, typename Visitor, If<M, TensorShapeProto::Dimension> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.dim_value);
  field(2, m.dim_param);
  field(3, m.denotation);
}

template <typename M, typename Visitor, If<M, TensorShapeProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.dim);
}

template <typename M, typename Visitor, If<M, TypeProto::Tensor> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.elem_type);
  field(2, m.shape);
}

template <typename M, typename Visitor, If<M, TypeProto::Sequence> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.elem_type);
}

template <typename M, typename Visitor, If<M, TypeProto::Map> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.key_type);
  field(2, m.value_type);
}

template <typename M, typename Visitor, If<M, TypeProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.tensor_type);
  field(4, m.sequence_type);
  field(5, m.map_type);
  field(6, m.denotation);
  field(8, m.sparse_tensor_type);
  field(9, m.optional_type);
}

template <typename M, typename Visitor, If<M, ValueInfoProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.name);
  field(2, m.type);
  field(3, m.doc_string);
}

template <typename M, typename Visitor, If<M, TensorAnnotation> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.tensor_name);
  field(2, m.quant_parameter_tensor_names);
}

template <typename M, typename Visitor, If<M, NodeProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.input);
  field(2, m.output);
  field(3, m.name);
  field(4, m.op_type);
  field(5, m.attribute);
  field(6, m.doc_string);
  field(7, m.domain);
}

template <typename M, typename Visitor, If<M, GraphProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.node);
  field(2, m.name);
  field(5, m.initializer);
  field(10, m.doc_string);
  field(11, m.input);
  field(12, m.output);
  field(13, m.value_info);
  field(14, m.quantization_annotation);
  field(15, m.sparse_initializer);
}

template <typename M, typename Visitor, If<M, AttributeProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.name);
  field(2, m.f);
  field(3, m.i);
  field(4, m.s);
  field(5, m.t);
  field(6, m.g);
  field(7, m.floats);
  field(8, m.ints);
  field(9, m.strings);
  field(10, m.tensors);
  field(11, m.graphs);
  field(13, m.doc_string);
  field(14, m.tp);
  field(15, m.type_protos);
  field(20, m.type);
  field(21, m.ref_attr_name);
  field(22, m.sparse_tensor);
  field(23, m.sparse_tensors);
}

template <typename M, typename Visitor, If<M, FunctionProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.name);
  field(4, m.input);
  field(5, m.output);
  field(6, m.attribute);
  field(7, m.node);
  field(8, m.doc_string);
  field(9, m.opset_import);
  field(10, m.domain);
  field(11, m.attribute_proto);
}

template <typename M, typename Visitor, If<M, TrainingInfoProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.initialization);
  field(2, m.algorithm);
  field(3, m.initialization_binding);
  field(4, m.update_binding);
}

template <typename M, typename Visitor, If<M, ModelProto> = 0>
void describe(M& m, Visitor& field) {
  field(1, m.ir_version);
  field(2, m.producer_name);
  field(3, m.producer_version);
  field(4, m.domain);
  field(5, m.model_version);
  field(6, m.doc_string);
  field(7, m.graph);
  field(8, m.opset_import);
  field(14, m.metadata_props);
  field(20, m.training_info);
  field(25, m.functions);
}

}  // namespace intaglio::onnx_file
