// Packed weights in the file: used in place where they are right and for this kernel, refused where they are
// wrong, passed over elsewhere; and models that are run where nobody can write.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <functional>
#include <map>

#include "calibrator/bake/pack_model.h"
#include "kernels/compiled_isa.h"
#include "object_api/model_generated.h"
#include "runtime/crc32.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::pack_test {
namespace {

std::vector<int8_t> codes(size_t count, uint32_t seed) {
  Random random(seed);
  std::vector<int8_t> values(count);
  for (int8_t& value : values) value = static_cast<int8_t>(random.between(-127, 127));
  return values;
}

// int8: a convolution, a depthwise one, a grouped one, a fully connected layer.
AlignedBytes int8_model() {
  ModelBuilder b;
  const int32_t in = b.tensor("in", DType::kS8, {1, 9, 8, 5}, 0.02f, 3);
  const int32_t w1 = b.constant("w1", DType::kS8, {48, 3, 3, 5}, codes(48 * 45, 1), {0.01f});
  const int32_t c1 = b.tensor("c1", DType::kS8, {1, 7, 6, 48}, 0.1f, -4);
  b.node(Op::kConv2d, {in, w1}, {c1}).options.as<Window2d>().kernel_h = 3;
  b.graph().nodes[0].options.as<Window2d>().kernel_w = 3;
  const int32_t w2 = b.constant("w2", DType::kS8, {3, 3, 48}, codes(9 * 48, 2), {0.01f});
  const int32_t c2 = b.tensor("c2", DType::kS8, {1, 7, 6, 48}, 0.3f, 7);
  Window2d& window = b.node(Op::kDepthwiseConv2d, {c1, w2}, {c2}).options.as<Window2d>();
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  const int32_t w3 = b.constant("w3", DType::kS8, {20, 1, 1, 24}, codes(20 * 24, 3), {0.01f});
  const int32_t c3 = b.tensor("c3", DType::kS8, {1, 7, 6, 20}, 0.5f, 0);
  b.node(Op::kConv2d, {c2, w3}, {c3}).options.as<Conv2dOptions>().groups = 2;
  const int32_t w4 = b.constant("w4", DType::kS8, {10, 840}, codes(8400, 4), {0.01f});
  const int32_t flat = b.tensor("flat", DType::kS8, {1, 840}, 0.5f, 0);
  b.node(Op::kReshape, {c3}, {flat});
  const int32_t out = b.tensor("out", DType::kS8, {1, 10}, 2.0f, 1);
  b.node(Op::kFullyConnected, {flat, w4}, {out});
  b.input(in);
  b.output(out);
  return b.finish();
}

AlignedBytes packed(const AlignedBytes& bytes, IsaMask isa) {
  HostArena memory;
  const auto model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  const auto file = pack_model(*model, all_ops(), isa, memory.arena());
  REQUIRE_MESSAGE(static_cast<bool>(file), text_of(file.error()));
  return AlignedBytes(*file);
}

SessionOptions with_isa(IsaMask isa) {
  SessionOptions options;
  options.isa = isa;
  return options;
}

SessionNeeds needs_of(const AlignedBytes& bytes, IsaMask isa, bool for_this_cpu = true) {
  const auto model = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const auto needs = Session::measure(*model, all_ops(), with_isa(isa), for_this_cpu);
  REQUIRE_MESSAGE(static_cast<bool>(needs), text_of(needs.error()));
  return *needs;
}

std::vector<int8_t> run(const AlignedBytes& bytes, IsaMask isa) {
  RunningModel running(AlignedBytes(bytes.view()), all_ops(), with_isa(isa));
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  return running.run<int8_t>(codes(9 * 8 * 5, 9));
}

// Each instruction set with those below it in its family.
std::vector<IsaMask> masks() {
  std::vector<IsaMask> list;
  IsaMask mask = isa::kScalar;
  std::string family;
  for (const IsaName& name : kIsaNames) {
    if (name.bit == isa::kScalar) continue;
    if (family != name.family) mask = isa::kScalar;
    family = name.family;
    list.push_back(mask |= name.bit);
  }
  return list;
}

// A set of this machine whose kernels pack; scalar where there is none.
IsaMask packing_isa() {
  for (const IsaMask mask : masks())
    if ((mask & ~(cpu_isa() & kCompiledIsa)) == 0 && needs_of(int8_model(), mask).packed_bytes > 0)
      return mask;
  return isa::kScalar;
}

using Table = flatbuffers::Table;

// A packed file under a hostile hand: bytes are changed in place, then the checksum is made right.
class Forged {
 public:
  explicit Forged(const AlignedBytes& source) : bytes(source.view()) {}

  Span<uint8_t> data(int32_t node) {
    const Span<const uint8_t> found = pack(node).data;
    return {const_cast<uint8_t*>(found.data), found.size};
  }
  char* kernel(int32_t node) { return const_cast<char*>(pack(node).kernel); }
  PackInfo pack(int32_t node) const {
    OpenOptions options;
    options.skip_checksum = true;
    return Model::open(bytes.view(), options)->pack(node);
  }
  // The field's bytes in the pack at position `i`.
  uint8_t* field(uint32_t i, uint16_t field) {
    const auto* packs = schema::GetModel(bytes.data())->packs();
    return const_cast<uint8_t*>(reinterpret_cast<const Table*>(packs->Get(i))->GetAddressOf(field));
  }
  Error error(IsaMask isa) {
    sign();
    return RunningModel(AlignedBytes(bytes.view()), all_ops(), with_isa(isa)).error();
  }
  void sign() {
    uint8_t* const crc_field =
        flatbuffers::GetMutableRoot<Table>(bytes.data())->GetAddressOf(schema::Model::VT_CRC32);
    memset(crc_field, 0, 4);
    const uint32_t crc = crc32(0, bytes.data(), bytes.size());
    memcpy(crc_field, &crc, 4);
  }

  AlignedBytes bytes;
};

// A file where nobody can write, as flash is: pages of a mapping, model at their start plus `shift`.
class ReadOnly {
 public:
  explicit ReadOnly(const AlignedBytes& source, size_t shift = 0) : size_(source.size() + shift) {
    place_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place_ != MAP_FAILED);
    memcpy(static_cast<uint8_t*>(place_) + shift, source.view().data, source.size());
    REQUIRE(mprotect(place_, size_, PROT_READ) == 0);
    bytes = {static_cast<const uint8_t*>(place_) + shift, source.size()};
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() { munmap(place_, size_); }

  Span<const uint8_t> bytes;

 private:
  size_t size_;
  void* place_;
};

struct ReadOnlyRun {
  SessionNeeds needs;
  std::vector<int8_t> output;
};

ReadOnlyRun run_read_only(const AlignedBytes& bytes, IsaMask isa, size_t shift = 0) {
  const ReadOnly file(bytes, shift);
  const auto model = Model::open(file.bytes);
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const auto needs = Session::measure(*model, all_ops(), with_isa(isa));
  REQUIRE(static_cast<bool>(needs));
  AlignedBytes memory(needs->total());
  auto session = Session::create(*model, all_ops(), Session::split(memory.span(), *needs), with_isa(isa));
  REQUIRE_MESSAGE(static_cast<bool>(session), text_of(session.error()));
  const std::vector<int8_t> input = codes(9 * 8 * 5, 9);
  memcpy(session->input().data, input.data(), input.size());
  session->run();
  const Span<int8_t> output = session->output().as<int8_t>();
  return {*needs, {output.begin(), output.end()}};
}

}  // namespace

TEST_CASE("packed weights are used in place by the machine they are for, to the same output") {
  const AlignedBytes plain = int8_model();
  const std::vector<int8_t> expected = run(plain, isa::kScalar);
  for (const IsaMask mask : masks()) {
    const AlignedBytes file = packed(plain, mask);
    const SessionNeeds before = needs_of(plain, mask, false), after = needs_of(file, mask, false);
    CHECK(before.in_place_bytes == 0);
    CHECK(after.packed_bytes == 0);
    CHECK(after.in_place_bytes == before.packed_bytes);
    CHECK(after.persistent_bytes < before.persistent_bytes + (before.packed_bytes == 0));
    for (const IsaMask other : masks()) {
      if ((other & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
      CHECK(run(file, other) == expected);
    }
  }
}

TEST_CASE("an order of instructions reads what is packed for its instruction set, and the other way round") {
  const AlignedBytes plain = int8_model();
  const IsaMask neon = isa::kNeon, dot = neon | isa::kNeonDot, i8mm = dot | isa::kNeonI8mm;
  const std::pair<IsaMask, IsaMask> alike[] = {{neon, neon | isa::kNeonA53}, {dot, dot | isa::kNeonA55}};
  for (const auto& [of, order] : alike) {
    const SessionNeeds before = needs_of(plain, of, false);
    CHECK(before.packed_bytes > 0);
    for (const IsaMask target : {of, order}) {
      CHECK(needs_of(packed(plain, of), target, false).in_place_bytes == before.packed_bytes);
      CHECK(needs_of(packed(plain, order), target, false).in_place_bytes == before.packed_bytes);
    }
  }
  CHECK(needs_of(packed(plain, neon), dot | isa::kNeonA55, false).packed_bytes > 0);
  CHECK(needs_of(packed(plain, dot | isa::kNeonA55), i8mm, false).packed_bytes > 0);
}

TEST_CASE("packing is the same on every machine, replaces packs, and loses nothing else") {
  const AlignedBytes plain = int8_model();
  for (const IsaMask mask : masks()) {
    const AlignedBytes once = packed(plain, mask), twice = packed(packed(plain, isa::kAll), mask);
    CHECK(std::vector<uint8_t>(once.view().begin(), once.view().end()) ==
          std::vector<uint8_t>(twice.view().begin(), twice.view().end()));
  }
  // Kernels of a Cortex-M take weights as they are.
  CHECK(packed(plain, isa::kHelium).size() == packed(plain, isa::kScalar).size());
  const AlignedBytes copy = packed(plain, isa::kScalar);
  CHECK(std::vector<uint8_t>(copy.view().begin(), copy.view().end()) ==
        std::vector<uint8_t>(plain.view().begin(), plain.view().end()));
}

TEST_CASE(
    "each kernel's layout is that of kPackLayout: a changed one asks for another number there, a new one for "
    "a line here") {
  const std::map<std::string, uint32_t> layouts_4 = {
      {"dwconv_3x3_s8_avx2", 1361244111u},
      {"dwconv_3x3_s8_avx512vnni", 3621374159u},
      {"dwconv_3x3_s8_avx512ymm", 3621374159u},
      {"dwconv_3x3_s8_avxvnni", 1016164469u},
      {"dwconv_3x3_s8_neon", 43632708u},
      {"dwconv_3x3_s8_neona53", 43632708u},
      {"dwconv_3x3_s8_neona55", 2373477677u},
      {"dwconv_3x3_s8_neondot", 2373477677u},
      {"gemm_s8_avx2", 392834166u},
      {"gemm_s8_avx512vnni", 3091300348u},
      {"gemm_s8_avx512ymm", 4070448870u},
      {"gemm_s8_avxvnni", 4070448870u},
      {"gemm_s8_neon", 950267766u},
      {"gemm_s8_neona53", 950267766u},
      {"gemm_s8_neona55", 3248176130u},
      {"gemm_s8_neondot", 3248176130u},
      {"gemm_s8_neoni8mm", 1127019970u},
  };
  std::map<std::string, uint32_t> found;
  for (const IsaMask mask : masks()) {
    const AlignedBytes file = packed(int8_model(), mask);
    const auto model = Model::open(file.view());
    std::map<std::string, uint32_t> of_mask;
    for (int32_t n = 0; n < model->node_count(); ++n) {
      const PackInfo pack = model->pack(n);
      if (!pack.data.empty())
        of_mask[pack.kernel] = crc32(of_mask[pack.kernel], pack.data.data, pack.data.size);
    }
    found.insert(of_mask.begin(), of_mask.end());
  }
  CHECK(kPackLayout == 4);
  for (const auto& pack : found) {
    const auto kernel = pack.first;
    const auto crc = pack.second;
    CAPTURE(kernel);
    CHECK(layouts_4.count(kernel) == 1);
    if (layouts_4.count(kernel) == 1) CHECK(layouts_4.at(kernel) == crc);
  }
}

TEST_CASE("a pack that is not the node's weights is refused, wherever it differs") {
  const IsaMask mask = packing_isa();
  if (mask == isa::kScalar) return;
  const AlignedBytes file = packed(int8_model(), mask);
  int32_t tried = 0;
  for (int32_t n = 0; n < 5; ++n) {
    const size_t size = Forged(file).data(n).size;
    for (size_t i = 0; i < size; i += i < 64 ? 1 : size / 16 + 1, ++tried) {
      Forged forged(file);
      forged.data(n)[i] ^= 0x10;
      const Error error = forged.error(mask);
      CHECK(error.status == Status::kBadPack);
      CHECK(error.node == n);
      CHECK(error.value == static_cast<int64_t>(i));
    }
    if (size == 0) continue;
    Forged shorter(file);
    const auto less = static_cast<uint32_t>(size - 1);
    memcpy(shorter.data(n).data - 4, &less, 4);
    CHECK(shorter.error(mask).status == Status::kBadPack);
    CHECK(shorter.error(isa::kScalar).ok());  // not read there
  }
  CHECK(tried > 0);
}

TEST_CASE("packs of another layout, another kernel or another place are passed over") {
  const IsaMask mask = packing_isa();
  if (mask == isa::kScalar) return;
  const AlignedBytes plain = int8_model(), file = packed(plain, mask);
  const std::vector<int8_t> expected = run(plain, isa::kScalar);
  const SessionNeeds usual = needs_of(plain, mask), in_place = needs_of(file, mask);
  REQUIRE(in_place.in_place_bytes > 0);

  Forged stale(file);
  stale.data(0)[0] ^= 1;  // whatever it holds
  stale.field(0, schema::PackedWeights::VT_LAYOUT)[0] ^= 0x40;
  CHECK(stale.error(mask).ok());
  CHECK(run(stale.bytes, mask) == expected);
  CHECK(needs_of(stale.bytes, mask).packed_bytes > 0);

  // Layout 3 is the same but for layers whose packs have another size since.
  Forged older(file);
  older.field(0, schema::PackedWeights::VT_LAYOUT)[0] = 3;
  CHECK(older.error(mask).ok());
  CHECK(needs_of(older.bytes, mask).packed_bytes == in_place.packed_bytes);
  CHECK(run(older.bytes, mask) == expected);
  const auto less = static_cast<uint32_t>(older.data(0).size - 1);
  memcpy(older.data(0).data - 4, &less, 4);
  CHECK(older.error(mask).ok());
  CHECK(run(older.bytes, mask) == expected);
  CHECK(needs_of(older.bytes, mask).packed_bytes > in_place.packed_bytes);

  Forged other(file);
  other.data(0)[0] ^= 1;
  other.kernel(0)[0] = 'x';
  CHECK(other.error(mask).ok());
  CHECK(run(other.bytes, mask) == expected);

  // A model may start at any multiple of 16; kernels read packs at multiples of 64.
  const ReadOnlyRun shifted = run_read_only(file, mask, 16);
  CHECK(shifted.needs.in_place_bytes == 0);
  CHECK(shifted.needs.persistent_bytes == usual.persistent_bytes);
  CHECK(shifted.output == expected);
}

TEST_CASE("packs of no node, of two, without a kernel or without data are passed over") {
  const IsaMask mask = masks()[0];
  const AlignedBytes plain = int8_model(), file = packed(plain, mask);
  const std::vector<int8_t> expected = run(plain, isa::kScalar);
  const auto passed_over = [&](const std::function<void(Forged&)>& forge) {
    Forged forged(file);
    forge(forged);
    forged.sign();
    const Result<Model> model = Model::open(forged.bytes.view());
    REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
    for (int32_t n = -1; n <= model->node_count(); ++n) {
      const PackInfo pack = model->pack(n);
      for (const char* c = pack.kernel; *c != '\0'; ++c) CHECK((*c >= ' ' && *c <= '~'));
      const bool whole = pack.kernel[0] != '\0' && !pack.data.empty();
      CHECK((whole || (pack.kernel[0] == '\0' && pack.data.data == nullptr)));
    }
    CHECK(run(forged.bytes, mask) == expected);
  };
  const auto set_node = [](Forged& forged, uint32_t i, int32_t node) {
    memcpy(forged.field(i, schema::PackedWeights::VT_NODE), &node, 4);
  };
  // The field is absent: its place in the table's vtable says so.
  const auto leave_out = [](Forged& forged, uint16_t field) {
    auto* const pack =
        const_cast<schema::PackedWeights*>(schema::GetModel(forged.bytes.data())->packs()->Get(0));
    auto* const table = reinterpret_cast<uint8_t*>(pack);
    memset(table - *reinterpret_cast<const int32_t*>(table) + field, 0, 2);
  };
  passed_over([&](Forged& f) { set_node(f, 1, 99); });
  passed_over([&](Forged& f) { set_node(f, 1, -2); });
  passed_over([&](Forged& f) { set_node(f, 1, schema::GetModel(f.bytes.data())->packs()->Get(0)->node()); });
  passed_over([](Forged& f) { f.kernel(0)[0] = '\n'; });
  passed_over([](Forged& f) { f.kernel(0)[0] = '\x7f'; });
  passed_over([](Forged& f) { memset(f.data(0).data - 4, 0, 4); });
  passed_over([&](Forged& f) { leave_out(f, schema::PackedWeights::VT_KERNEL); });
  passed_over([&](Forged& f) { leave_out(f, schema::PackedWeights::VT_DATA); });

  Forged damaged(file);
  memset(damaged.data(0).data - 4, 0x7f, 4);
  damaged.sign();
  CHECK(Model::open(damaged.bytes.view()).error().status == Status::kBadStructure);
}

TEST_CASE("prepare_node leaves packs in the model alone") {
  const IsaMask mask = packing_isa();
  if (mask == isa::kScalar) return;
  RunningModel plain(int8_model(), all_ops(), with_isa(mask)),
      in_place(packed(int8_model(), mask), all_ops(), with_isa(mask));
  CHECK(plain.session().prepare_node(0).ok());
  CHECK(in_place.session().prepare_node(0).status == Status::kBadPack);
  CHECK(in_place.session().prepare_node(3).ok());  // a reshape
}

TEST_CASE("models run where nobody can write: weights are read in place, plain as on boards, or packed") {
  const AlignedBytes plain = int8_model();
  const std::vector<int8_t> expected = run(plain, isa::kScalar);
  const ReadOnlyRun board = run_read_only(plain, isa::kScalar);
  CHECK(board.output == expected);
  CHECK(board.needs.packed_bytes == 0);  // nothing is copied: bookkeeping alone
  CHECK(board.needs.persistent_bytes <= 16u * 10 + 32u * 5);
  CHECK(run_read_only(plain, isa::kAll).output == expected);

  const IsaMask mask = packing_isa();
  if (mask == isa::kScalar) return;
  const ReadOnlyRun in_place = run_read_only(packed(plain, mask), mask);
  CHECK(in_place.output == expected);
  CHECK(in_place.needs.packed_bytes == 0);
  CHECK(in_place.needs.in_place_bytes > 0);
  CHECK(in_place.needs.persistent_bytes == board.needs.persistent_bytes);
}

}  // namespace intaglio::test::pack_test
